//! Images: built with news on the way, listed, pruned.

use std::convert::Infallible;

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
};
use bytes::Bytes;
use contracts::sandbox::{Base, Compute, Recipe, SandboxError, Sandboxes};
use futures::StreamExt as _;
use tokio::sync::mpsc;
use wire::{
    error::{Code, Problem, Refusal},
    image::{BuildImage, BuildNews, Image, Images, PruneImages, Pruned},
};

use crate::{
    convert,
    door::Door,
    driven::{News, driven},
    extract::{Asked, bad},
    problem::{Answer, problem},
    sockets::Values,
};

/// The shortest beginning of a key that may stand for it.
const SHORTEST: usize = 8;

/// Builds an image, or finds it built. Tells one line of JSON after another, and ends with `built` or `failed`
#[utoipa::path(
    post,
    path = "/v1/images",
    tag = "images",
    request_body = BuildImage,
    responses(
        (status = 200, content_type = "application/x-ndjson", body = BuildNews),
        (status = "4XX", body = Refusal)
    )
)]
pub(crate) async fn build<S: Sandboxes>(
    State(door): State<Door<S>>,
    Asked(wish): Asked<BuildImage>,
) -> Answer<([(&'static str, &'static str); 1], Body)> {
    let base: Base = wish
        .base
        .parse()
        .map_err(|reason| SandboxError::Image { image: wish.base.clone(), reason })?;
    let compute = convert::compute(wish.compute, Compute::default());
    compute.check().map_err(|reason| SandboxError::Limit { reason })?;
    let sources = door.sources.resolve(&convert::sources(wish.repositories)?).await?;
    let network = door.networks.for_setup(&door.owner());
    let recipe = Recipe { base, sources, setup: wish.setup, compute, network };
    let (news, told) = mpsc::channel(64);
    let sandboxes = door.sandboxes.clone();
    let (stop, talk) = (door.closing.stop.clone(), door.closing.talks.token());
    let building = Box::pin(async move {
        let _talk = talk;
        tokio::select! {
            built = sandboxes.prepare_image(&recipe, news) => built.map_err(problem),
            () = stop.cancelled() => {
                let message = "the server was stopped before the image was built";
                let help = "build it again once `lamp up` runs again";
                Err(Problem::new(Code::Stopped, message).with_help(help))
            }
        }
    });
    let values = door.values.clone();
    let lines = driven(building, told).map(move |news| {
        let news = match news {
            News::Item(news) => convert::news(news),
            News::End(Ok(image)) => BuildNews::Built { image: convert::image(image) },
            News::End(Err(error)) => BuildNews::Failed { error },
        };
        Ok::<Bytes, Infallible>(line(&news, &*values))
    });
    Ok(([("content-type", "application/x-ndjson")], Body::from_stream(lines)))
}

fn line(news: &BuildNews, values: &dyn Values) -> Bytes {
    // Strings and numbers always can be written.
    let line = serde_json::to_string(news).unwrap_or_default() + "\n";
    values.text(&line).into_owned().into()
}

/// The images that are kept, the most recently used first
#[utoipa::path(
    get,
    path = "/v1/images",
    tag = "images",
    responses((status = 200, body = Images), (status = "5XX", body = Refusal))
)]
pub(crate) async fn list<S: Sandboxes>(State(door): State<Door<S>>) -> Answer<Json<Images>> {
    let images = door.sandboxes.images().await?;
    Ok(Json(Images { images: images.into_iter().map(convert::image).collect() }))
}

/// One, by its key or the beginning of it
#[utoipa::path(
    get,
    path = "/v1/images/{key}",
    tag = "images",
    params(("key" = String, Path, description = "A key, or at least 8 letters of its beginning")),
    responses((status = 200, body = Image), (status = "4XX", body = Refusal))
)]
pub(crate) async fn one<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(key): Path<String>,
) -> Answer<Json<Image>> {
    let key = key.strip_prefix("image:").unwrap_or(&key);
    let is_hex = key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hex || key.len() < SHORTEST {
        return Err(bad("a key is 64 hexadecimal digits; at least 8 of them name it"));
    }
    let images = door.sandboxes.images().await?;
    let mut found = images.into_iter().filter(|image| image.key.as_str().starts_with(key));
    match (found.next(), found.next()) {
        (Some(image), None) => Ok(Json(convert::image(image))),
        (Some(_), Some(_)) => {
            Err(bad(format!("several keys begin with `{key}`: write more of it")))
        }
        (None, _) => Err(Problem::new(Code::NotFound, format!("there is no image `{key}`"))
            .with_help("`lamp image list` shows those that are kept")
            .into()),
    }
}

/// Removes images that nothing uses, the longest unused first, until at most `keep_bytes` are left
#[utoipa::path(
    post,
    path = "/v1/images/prune",
    tag = "images",
    request_body = PruneImages,
    responses((status = 200, body = Pruned), (status = "5XX", body = Refusal))
)]
pub(crate) async fn prune<S: Sandboxes>(
    State(door): State<Door<S>>,
    Asked(wish): Asked<PruneImages>,
) -> Answer<Json<Pruned>> {
    let removed = door.sandboxes.prune_images(wish.keep_bytes).await?;
    let removed: Vec<Image> = removed.into_iter().map(convert::image).collect();
    let bytes = removed.iter().map(|image| image.bytes).sum();
    Ok(Json(Pruned { removed, bytes }))
}
