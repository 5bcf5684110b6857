//! What the platform team lets the agents have that a repository defines itself.

use domain::code::RepositoryName;

use crate::{agent::ImageBase, names::VariableName, shape::record};

record! {
    /// One repository, and what its own agents may have.
    pub struct RepositorySection {
        /// The repository, as tasks name it.
        name: RepositoryName,
        /// Secrets that its agents may name. They see placeholders, and hosts are those of the secret.
        secrets: Vec<VariableName> = vec![],
        /// Images that its agents may begin with, and that their services may run, beside the server's default.
        images: Vec<ImageBase> = vec![],
    }
}
