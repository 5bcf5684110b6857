//! One request, from its head to its answer: judged by the broker, then carried or refused.

use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    errand::{Asked, errand},
    exchange::Open,
    refusal::{self, After},
    relay,
    talk::{Next, Talk},
};
use crate::{
    ask::{Grant, Refusal},
    readers::head::RequestHead,
};

/// Carries one request whose head was read.
pub(super) async fn carry<S: AsyncRead + AsyncWrite + Unpin + Send>(
    talk: &mut Talk<S>,
    asked: &Asked,
    head: RequestHead,
) -> Next {
    let open = Open::begin_at(&asked.sandbox, &asked.place, asked.origin);
    let mut errand = match errand(talk, asked, head, open) {
        Ok(errand) => errand,
        Err(unfit) => {
            let (talk, open, refusal) = *unfit;
            return refuse_blindly(talk, open, refusal).await;
        }
    };
    match errand.judged().await {
        Ok(grant) => relay::relay(errand, grant).await,
        Err(refusal) => errand.refuse(*refusal).await,
    }
}

/// Carries one request for which there is a grant already.
pub(super) async fn carry_granted<S: AsyncRead + AsyncWrite + Unpin + Send>(
    talk: &mut Talk<S>,
    asked: &Asked,
    head: RequestHead,
    open: Open,
    grant: Grant,
) -> Next {
    match errand(talk, asked, head, open) {
        Ok(errand) => relay::relay(errand, grant).await,
        Err(unfit) => {
            let (talk, open, refusal) = *unfit;
            refuse_blindly(talk, open, refusal).await
        }
    }
}

/// Refuses one request whose head was read.
pub(super) async fn refuse_head<S: AsyncRead + AsyncWrite + Unpin + Send>(
    talk: &mut Talk<S>,
    asked: &Asked,
    head: RequestHead,
    open: Open,
    refusal: Refusal,
) -> Next {
    match errand(talk, asked, head, open) {
        Ok(errand) => errand.refuse(refusal).await,
        Err(unfit) => {
            let (talk, open, _other) = *unfit;
            refuse_blindly(talk, open, refusal).await
        }
    }
}

/// Answers with a refusal and gives the connection up, because where the next request begins is unknown.
pub(super) async fn refuse_blindly<S: AsyncRead + AsyncWrite + Unpin>(
    talk: &mut Talk<S>,
    open: Open,
    refusal: Refusal,
) -> Next {
    let answer = refusal::render(&refusal, None, After::Close);
    open.refused(refusal).await;
    // A program that is gone needs no answer.
    let _ = talk.say(&answer).await;
    Next::Close
}
