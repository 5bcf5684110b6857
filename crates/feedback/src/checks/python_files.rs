//! Files that say how a project of Python is checked.

/// What says that something is written in Python, and how it is checked.
pub(super) const FILES: &[&str] = &[
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
];
