//! For fakes of sandboxes: the part of the contract that a test does not speak of.

/// The methods of [`Sandboxes`](crate::sandbox::Sandboxes) that a fake is never asked for, inside of its `impl`: all but `exec` and `file`, or with
/// `file`, all but `exec`. Whoever asks for one after all is told which.
#[macro_export]
macro_rules! never_asked {
    (file) => {
        async fn file(
            &self,
            _: domain::id::SandboxId,
            ask: &$crate::sandbox::FileAsk,
            _: $crate::sandbox::Streams,
        ) -> Result<$crate::sandbox::Transfer, $crate::sandbox::SandboxError> {
            unreachable!("this sandbox is a fake without files: {ask:?}")
        }
        $crate::never_asked!();
    };
    () => {
        fn capabilities(&self) -> $crate::sandbox::Capabilities {
            unreachable!("this sandbox is a fake without `capabilities`")
        }
        async fn forward(
            &self,
            _: domain::id::SandboxId,
            _: u16,
            _: $crate::sandbox::Streams,
        ) -> Result<(), $crate::sandbox::SandboxError> {
            unreachable!("this sandbox is a fake without `forward`")
        }
        async fn fork(
            &self,
            _: domain::id::SandboxId,
            _: &$crate::sandbox::Spec,
        ) -> Result<(), $crate::sandbox::SandboxError> {
            unreachable!("this sandbox is a fake without `fork`")
        }
        async fn prepare_image(
            &self,
            _: &$crate::sandbox::Recipe,
            _: tokio::sync::mpsc::Sender<$crate::sandbox::BuildNews>,
        ) -> Result<$crate::sandbox::Image, $crate::sandbox::SandboxError> {
            unreachable!("this sandbox is a fake without `prepare_image`")
        }
        async fn list(
            &self,
        ) -> Result<Vec<$crate::sandbox::Listed>, $crate::sandbox::SandboxError> {
            unreachable!("this sandbox is a fake without `list`")
        }
        async fn images(
            &self,
        ) -> Result<Vec<$crate::sandbox::Image>, $crate::sandbox::SandboxError> {
            unreachable!("this sandbox is a fake without `images`")
        }
        $crate::never_asked! {
            open(&$crate::sandbox::Spec) -> ();
            freeze(domain::id::SandboxId) -> ();
            thaw(domain::id::SandboxId) -> ();
            rest(domain::id::SandboxId) -> ();
            destroy(domain::id::SandboxId) -> ();
            stats(domain::id::SandboxId) -> $crate::sandbox::Reading;
            bill(&$crate::sandbox::Owner) -> domain::cost::Cost;
            prune_images(u64) -> Vec<$crate::sandbox::Image>;
        }
    };
    ($($name:ident($given:ty) -> $answer:ty;)+) => {$(
        async fn $name(&self, _: $given) -> Result<$answer, $crate::sandbox::SandboxError> {
            unreachable!(concat!("this sandbox is a fake without `", stringify!($name), "`"))
        }
    )+};
}
