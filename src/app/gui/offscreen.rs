//! Frames that are drawn into memory: by the graphics card or by a driver in software, without a window or display.

use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use eframe::egui_wgpu::{
    RenderState, RendererOptions, ScreenDescriptor, WgpuConfiguration, WgpuError, WgpuSetup,
    WgpuSetupCreateNew, wgpu,
};
use egui::{Color32, ColorImage, Context, FullOutput, TexturesDelta};
use futures::executor::block_on;

/// How long a driver may take for one picture.
const PATIENCE: Duration = Duration::from_secs(30);

/// What draws.
pub(super) struct Offscreen(RenderState);

impl Offscreen {
    /// # Errors
    /// Where the system has nothing that draws.
    pub(super) fn new() -> anyhow::Result<Self> {
        // OpenGL last: its libraries ask for a display, and say so where there is none.
        let state = create(wgpu::Backends::PRIMARY).or_else(|_| create(wgpu::Backends::GL));
        let state = state.context(
            "there is no driver that draws without a display; one in software is Debian's mesa-vulkan-drivers",
        )?;
        Ok(Offscreen(state))
    }

    /// The longest side of a texture, in pixels.
    pub(super) fn longest(&self) -> usize {
        self.0.device.limits().max_texture_dimension_2d as usize
    }

    /// Takes the textures that a frame made, and lets those go that it does not need any more.
    pub(super) fn textures(&self, delta: &mut TexturesDelta) {
        let mut renderer = self.0.renderer.write();
        for (id, images) in delta.set.drain() {
            for image in images {
                renderer.update_texture(&self.0.device, &self.0.queue, id, &image);
            }
        }
        for id in delta.free.drain() {
            renderer.free_texture(&id);
        }
    }

    /// Draws a frame.
    ///
    /// # Errors
    /// Where the driver fails, or takes too long.
    pub(super) fn draw(&self, ctx: &Context, output: FullOutput) -> anyhow::Result<ColorImage> {
        let (device, queue) = (&self.0.device, &self.0.queue);
        let points = ctx.pixels_per_point();
        let size = (ctx.content_rect().size() * points).round();
        let screen =
            ScreenDescriptor { pixels_per_point: points, size_in_pixels: [size.x as u32, size.y as u32] };
        let shapes = ctx.tessellate(output.shapes, points);
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("frame"),
            size: extent(screen.size_in_pixels),
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: self.0.target_format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut renderer = self.0.renderer.write();
        let buffers = renderer.update_buffers(device, queue, &mut encoder, &shapes, &screen);
        let attachment = wgpu::RenderPassColorAttachment {
            view: &view,
            resolve_target: None,
            ops: wgpu::Operations {
                load: wgpu::LoadOp::Clear(wgpu::Color::BLACK),
                store: wgpu::StoreOp::Store,
            },
            depth_slice: None,
        };
        let pass = wgpu::RenderPassDescriptor {
            color_attachments: &[Some(attachment)],
            ..wgpu::RenderPassDescriptor::default()
        };
        renderer.render(&mut encoder.begin_render_pass(&pass).forget_lifetime(), &shapes, &screen);
        queue.submit(buffers.into_iter().chain([encoder.finish()]));
        self.read(&texture, screen.size_in_pixels)
    }

    /// The pixels of a texture; its rows lie padded in the memory that they are read from.
    fn read(&self, texture: &wgpu::Texture, [width, height]: [u32; 2]) -> anyhow::Result<ColorImage> {
        let (device, queue) = (&self.0.device, &self.0.queue);
        let row = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("pixels"),
            size: u64::from(row) * u64::from(height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_texture_to_buffer(
            texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo { buffer: &buffer, layout },
            extent([width, height]),
        );
        let index = queue.submit([encoder.finish()]);
        let (done, mapped) = mpsc::channel();
        buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| drop(done.send(result)));
        device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: Some(PATIENCE) })?;
        mapped.try_recv().context("the driver did not end in time")??;
        let bytes = buffer.slice(..).get_mapped_range().map_err(|error| anyhow!("{error}"))?;
        let of_bgra = matches!(
            self.0.target_format,
            wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Bgra8UnormSrgb
        );
        let rows = bytes.chunks_exact(row as usize).flat_map(|row| row.chunks_exact(4).take(width as usize));
        let pixels: Vec<Color32> = rows
            .filter_map(|pixel| match *pixel {
                [b, g, r, _] if of_bgra => Some(Color32::from_rgb(r, g, b)),
                [r, g, b, _] => Some(Color32::from_rgb(r, g, b)),
                _ => None,
            })
            .collect();
        ensure!(
            pixels.len() == (width * height) as usize,
            "the driver gave another picture than it was asked for"
        );
        Ok(ColorImage::new([width as usize, height as usize], pixels))
    }
}

/// What draws by one of these interfaces.
fn create(backends: wgpu::Backends) -> Result<RenderState, WgpuError> {
    let mut setup = WgpuSetupCreateNew::without_display_handle();
    setup.instance_descriptor.backends = backends;
    let setup = WgpuSetup::CreateNew(setup);
    let instance = block_on(setup.new_instance());
    let configuration = WgpuConfiguration { wgpu_setup: setup, ..WgpuConfiguration::default() };
    block_on(RenderState::create(&configuration, &instance, None, RendererOptions::PREDICTABLE))
}

fn extent([width, height]: [u32; 2]) -> wgpu::Extent3d {
    wgpu::Extent3d { width, height, depth_or_array_layers: 1 }
}
