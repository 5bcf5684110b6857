//! How commits and pull requests of tasks look (RV3).

use super::BranchPattern;
use crate::{
    names::{FilePath, MailAddress, PersonName},
    shape::record,
};

record! {
    defaulted
    /// How commits and pull requests of tasks look.
    pub struct PullRequestSection {
        /// The author of every commit. Left out: Lamplighter itself.
        author: Option<Identity> = None,
        /// The committer of every commit. Left out: Lamplighter itself.
        committer: Option<Identity> = None,
        /// Who is named as co-author of every commit: whose server it is, for example.
        co_authors: Vec<Identity> = vec![],
        /// How branches are called. It begins with `agent/`, and has the task's id.
        branch: BranchPattern = BranchPattern::default(),
        /// A file with the template of the text. Left out: the built-in one.
        template: Option<FilePath> = None,
        /// A file with a private SSH key that signs every commit, as git does with `gpg.format=ssh`. Left out: commits are not signed.
        signing_key: Option<FilePath> = None,
    }
}

record! {
    /// A person or a program, as git names them.
    pub struct Identity {
        /// The name.
        name: PersonName,
        /// The address.
        email: MailAddress,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Checked, check};

    #[test]
    fn what_git_could_not_keep_is_told_with_its_place() {
        let wrong = "version: 1\npull_requests:\n  author: { name: 'Ann <ann>', email: ann }\n  \
            co_authors: [{ name: ' Bob', email: 'bob@example.com>' }, { name: Eve }]\n  \
            branch: main\n  template: ''\n";
        insta::assert_snapshot!(check("lamp.yaml", wrong).unwrap_err(), @r"
        lamp.yaml:3:19: `pull_requests.author.name`: `Ann <ann>` is not a name that git can keep
          help: write it as `Ann Example`: one line of at most 100 bytes, without `<` and `>`
        lamp.yaml:3:39: `pull_requests.author.email`: `ann` is not an address of mail
          help: write it as `ann@example.com`: letters, digits and `._%+-[]` around one `@`
        lamp.yaml:4:24: `pull_requests.co_authors[0].name`: ` Bob` is not a name that git can keep
          help: write it as `Ann Example`: one line of at most 100 bytes, without `<` and `>`
        lamp.yaml:4:39: `pull_requests.co_authors[0].email`: `bob@example.com>` is not an address of mail
          help: write it as `ann@example.com`: letters, digits and `._%+-[]` around one `@`
        lamp.yaml:4:61: `pull_requests.co_authors[1]` lacks the key `email`
          help: add `email:`
        lamp.yaml:5:11: `pull_requests.branch`: `main` does not begin with `agent/`, which is where branches of tasks are
          help: write it as `agent/{task}-{slug}`, or `agent/web/{slug}-{task}`; there are `{task}` and `{slug}`
        lamp.yaml:6:13: `pull_requests.template`: `` is not a path
          help: write it as `reports/junit.xml`
        ");
    }

    #[test]
    fn a_right_section_is_read_as_it_is_written() {
        let text = "version: 1\npull_requests:\n  author: { name: Ann Example, email: 'lamp[bot]@example.com' }\n  \
            branch: agent/web/{slug}-{task}\n";
        let Checked::Server(file) = check("lamp.yaml", text).unwrap() else { panic!("a server") };
        let section = &file.pull_requests;
        let author = section.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
        assert_eq!(author, Some(("Ann Example", "lamp[bot]@example.com")));
        assert_eq!(section.branch.as_str(), "agent/web/{slug}-{task}");
        assert_eq!((section.committer.as_ref(), section.co_authors.len()), (None, 0));
    }
}
