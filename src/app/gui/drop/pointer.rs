//! Where the pointer is during a drag from another window. winit does not say; X11 does if it is asked. On
//! other systems there is no answer, and what moves the pointer after the drop decides.

use egui::{Context, Pos2};

/// The way to the answer, opened with the first question.
#[derive(Default)]
pub(super) struct Pointer {
    #[cfg(all(unix, not(target_os = "macos")))]
    x11: x11::Connection,
}

impl Pointer {
    /// Where the pointer is now, in points of the window.
    pub(super) fn ask(&mut self, ctx: &Context) -> Option<Pos2> {
        #[cfg(all(unix, not(target_os = "macos")))]
        {
            let window = ctx.input(|input| input.viewport().inner_rect)?;
            let (x, y) = self.x11.pointer()?;
            let scale = ctx.pixels_per_point();
            let at = egui::pos2(f32::from(x) / scale, f32::from(y) / scale);
            Some(at - window.min.to_vec2())
        }
        #[cfg(not(all(unix, not(target_os = "macos"))))]
        {
            let _ = ctx;
            None
        }
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
mod x11 {
    use x11rb::connection::Connection as _;
    use x11rb::protocol::xproto::ConnectionExt as _;
    use x11rb::rust_connection::RustConnection;

    /// A connection of our own to the X server, if there is one.
    #[derive(Default)]
    pub(super) struct Connection {
        open: Option<Option<(RustConnection, u32)>>,
    }

    impl Connection {
        /// The pointer's place on the screen, in pixels.
        pub(super) fn pointer(&mut self) -> Option<(i16, i16)> {
            let open = self.open.get_or_insert_with(|| {
                std::env::var_os("DISPLAY")?;
                let (connection, screen) = x11rb::connect(None).ok()?;
                let root = connection.setup().roots.get(screen)?.root;
                Some((connection, root))
            });
            let (connection, root) = open.as_ref()?;
            let reply = connection.query_pointer(*root).ok()?.reply().ok()?;
            Some((reply.root_x, reply.root_y))
        }
    }
}
