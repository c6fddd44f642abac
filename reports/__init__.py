"""From evidence to reports. Everything here reads JUnit files only, so that it works on files from anywhere."""
