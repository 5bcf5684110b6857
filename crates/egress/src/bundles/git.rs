//! Git's smart HTTP, by the address of a request alone.

use domain::policy::{Method, RequestPath};

/// What a request wants of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRequest {
    /// `owner/name`, without `.git`.
    pub repository: String,
    pub service: GitService,
    pub step: GitStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitService {
    /// Fetching.
    UploadPack,
    /// Pushing.
    ReceivePack,
}

/// First the refs are listed, then the service is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitStep {
    ListRefs,
    Serve,
}

/// `None` for a request that is not git's.
pub fn read(method: Method, path: &RequestPath, query: Option<&str>) -> Option<GitRequest> {
    let path = path.as_str().strip_prefix('/')?;
    let (rest, service, step) = if let Some(rest) = path.strip_suffix("/info/refs") {
        // The service may be asked for with anything else beside it; a server reads the first or the last, so any counts.
        let pushes = query.is_some_and(|query| query.contains("receive-pack"));
        let fetches = query == Some("service=git-upload-pack");
        let service = match (pushes, fetches) {
            (true, _) => GitService::ReceivePack,
            (false, true) => GitService::UploadPack,
            (false, false) => return None,
        };
        (rest, service, GitStep::ListRefs)
    } else if let Some(rest) = path.strip_suffix("/git-upload-pack") {
        (rest, GitService::UploadPack, GitStep::Serve)
    } else {
        (path.strip_suffix("/git-receive-pack")?, GitService::ReceivePack, GitStep::Serve)
    };
    let reads = matches!(method, Method::Get | Method::Head);
    let fits = match step {
        GitStep::ListRefs => reads,
        GitStep::Serve => method == Method::Post,
    };
    // A push in a strange dress is still a push: the caller refuses it.
    if !fits && service == GitService::UploadPack {
        return None;
    }
    let repository = rest.strip_suffix(".git").unwrap_or(rest);
    (!repository.is_empty()).then(|| GitRequest {
        repository: repository.to_owned(),
        service,
        step,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_git_is_known_by_its_address() {
        let told = |line: &str| {
            let (method, target) = line.split_once(' ').unwrap();
            let method = Method::ALL.into_iter().find(|it| it.as_str() == method).unwrap();
            let (path, query) = match target.split_once('?') {
                Some((path, query)) => (path, Some(query)),
                None => (target, None),
            };
            let read = read(method, &path.parse().unwrap(), query);
            format!("{line}: {:?}", read.map(|it| (it.repository, it.service, it.step)))
        };
        let all = [
            "GET /o/r.git/info/refs?service=git-upload-pack",
            "GET /o/r/info/refs?service=git-receive-pack",
            "GET /o/r/info/refs?x=1&service=git-receive-pack",
            "GET /o/r/info/refs?x=1&service=git-upload-pack",
            "GET /o/r/info/refs",
            "POST /o/r.git/git-upload-pack",
            "GET /o/r.git/git-upload-pack",
            "POST /o/r.git/git-receive-pack",
            "PUT /o/r.git/git%2dreceive-pack",
            "POST /git-receive-pack",
            "GET /o/r",
        ];
        insta::assert_snapshot!(all.map(told).join("\n"), @r#"
        GET /o/r.git/info/refs?service=git-upload-pack: Some(("o/r", UploadPack, ListRefs))
        GET /o/r/info/refs?service=git-receive-pack: Some(("o/r", ReceivePack, ListRefs))
        GET /o/r/info/refs?x=1&service=git-receive-pack: Some(("o/r", ReceivePack, ListRefs))
        GET /o/r/info/refs?x=1&service=git-upload-pack: None
        GET /o/r/info/refs: None
        POST /o/r.git/git-upload-pack: Some(("o/r", UploadPack, Serve))
        GET /o/r.git/git-upload-pack: None
        POST /o/r.git/git-receive-pack: Some(("o/r", ReceivePack, Serve))
        PUT /o/r.git/git%2dreceive-pack: Some(("o/r", ReceivePack, Serve))
        POST /git-receive-pack: None
        GET /o/r: None
        "#);
    }
}
