//! Names of files that say what a project is written in: the survey keeps them, and the reader of that language begins with them.

/// What says that something is written in Python, and how it is checked.
pub(super) const PYTHON: &[&str] = &[
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "noxfile.py",
    "pytest.ini",
    "conftest.py",
    "mypy.ini",
    "ruff.toml",
    ".ruff.toml",
    ".flake8",
    "Pipfile",
    "requirements.txt",
    ".pre-commit-config.yaml",
];
