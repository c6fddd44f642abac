"""The door of Meshgate: options, markers and fixtures are wired here, and live in fixtures/plugin and reports."""

pytest_plugins = [
    "fixtures.plugin.options",
    "fixtures.plugin.known",
    "fixtures.plugin.wiring",
    "fixtures.plugin.reshard",
    "fixtures.plugin.explain",
    "fixtures.plugin.list_layouts",
    "fixtures.plugin.libraries",
    "fixtures.plugin.header",
    "fixtures.plugin.soak",
    "reports.pytest_plugin",
]
