# Asks runners of tests for a report, whoever starts them: $1 is our directory, outside of the checkout, and $2 the check's command.
# What these ask for is added to what is there. A runner that is started by its whole path, or in an environment of its own, is not asked.
PATH="$1/bin:$PATH"
PYTEST_ADDOPTS="${PYTEST_ADDOPTS:+$PYTEST_ADDOPTS }--junitxml=$1/out/pytest-\$TOX_ENV_NAME-\$NOX_CURRENT_SESSION.xml -o junit_family=xunit1"
NODE_OPTIONS="${NODE_OPTIONS:+$NODE_OPTIONS }--require=$1/preload.cjs"
TOX_OVERRIDE="${TOX_OVERRIDE:+$TOX_OVERRIDE;}testenv.pass_env+=PYTEST_ADDOPTS,NODE_OPTIONS"
NEXTEST_STATUS_LEVEL=all
export PATH PYTEST_ADDOPTS NODE_OPTIONS TOX_OVERRIDE NEXTEST_STATUS_LEVEL
exec /bin/sh -c "$2"
