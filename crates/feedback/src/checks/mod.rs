//! Which checks a repository has, when nobody declared them.
