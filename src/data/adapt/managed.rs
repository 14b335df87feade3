//! A picture in the colours of sRGB, from those that its ICC profile tells (ISO 15076-1), by moxcms.

use crate::bytes::error::{Error, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::task::Task;
use crate::data::content::{Image, ImageInfo, Pixels, Rect, Sample};
use moxcms::{
    ColorProfile, DataColorSpace, Layout, ProfileText, Transform8BitExecutor, Transform16BitExecutor,
    TransformOptions,
};
use std::sync::Arc;

/// Pixels that are converted between two looks at the task.
const STEP: usize = 1 << 20;

enum Transform {
    Bytes(Arc<Transform8BitExecutor>),
    Words(Arc<Transform16BitExecutor>),
}

/// A picture whose pixels are converted to sRGB as they are read; what the file holds is the other one's.
pub struct Managed {
    image: Arc<dyn Image>,
    info: ImageInfo,
    transform: Transform,
}

/// What a profile is called, where it has a name.
pub fn profile_name(profile: &[u8]) -> Option<String> {
    parsed(profile).ok()?.description.as_ref().and_then(profile_text)
}

/// A text of a profile: in English, where there are several.
pub fn profile_text(text: &ProfileText) -> Option<String> {
    let found = match text {
        ProfileText::PlainString(text) => text.clone(),
        ProfileText::Localizable(list) => {
            let english = list.iter().find(|text| text.language == "en");
            english.or(list.first())?.value.clone()
        }
        ProfileText::Description(text) => match text.ascii_string.is_empty() {
            true => text.unicode_string.clone(),
            false => text.ascii_string.clone(),
        },
    };
    let found = found.trim_matches(['\0', ' ', '\n']).to_owned();
    (!found.is_empty()).then_some(found)
}

/// The kind of profile that pixels are converted by: of three colours or of grey, in 8 or 16 bits; `None` for others.
fn space(info: &ImageInfo) -> Option<DataColorSpace> {
    let known = matches!((info.sample, info.bits), (Sample::U8, _) | (Sample::U16, 16));
    match info.channels.saturating_sub(u32::from(info.alpha && info.channels > 1)) {
        3 if known => Some(DataColorSpace::Rgb),
        1 if known => Some(DataColorSpace::Gray),
        _ => None,
    }
}

/// Grey by the curve of sRGB.
fn grey() -> ColorProfile {
    let mut profile = ColorProfile::new_gray_with_gamma(1.0);
    profile.gray_trc = ColorProfile::new_srgb().red_trc;
    profile
}

fn parsed(profile: &[u8]) -> Result<ColorProfile> {
    catch_decoder_panic("the profile", || ColorProfile::new_from_slice(profile).map_err(failed))
}

fn failed(error: moxcms::CmsError) -> Error {
    Error::malformed(format!("the ICC profile: {error}"))
}

impl Managed {
    /// The name of the profile, where there is one that changes anything: of the colours that the picture has, which are
    /// not those of sRGB.
    pub fn named(info: &ImageInfo) -> Option<String> {
        // The colour space stands in the header.
        let told: &[u8] = match space(info)? {
            DataColorSpace::Gray => b"GRAY",
            _ => b"RGB ",
        };
        if info.profile.get(16..20) != Some(told) {
            return None;
        }
        let profile = parsed(&info.profile).ok()?;
        // Grey is converted by its curve alone.
        let usable = told == b"RGB " || profile.gray_trc.is_some() && profile.pcs == DataColorSpace::Xyz;
        let name = profile.description.as_ref().and_then(profile_text).filter(|_| usable)?;
        (!name.contains("sRGB")).then_some(name)
    }

    /// The picture with its profile applied.
    ///
    /// # Errors
    /// `Unsupported` for pixels of another kind; `Malformed` for a profile that cannot be read.
    pub fn new(image: Arc<dyn Image>) -> Result<Self> {
        let info = image.info();
        let space = space(info).ok_or_else(|| {
            Error::unsupported("colours of another kind than grey or RGB of 8 or 16 bits are not converted")
        })?;
        let from = parsed(&info.profile)?;
        if from.color_space != space {
            return Err(Error::unsupported("the ICC profile is of other colours than the picture"));
        }
        let transform = catch_decoder_panic("the profile", || {
            let (to, layout) = match (space, info.alpha) {
                (DataColorSpace::Gray, true) => (grey(), Layout::GrayAlpha),
                (DataColorSpace::Gray, false) => (grey(), Layout::Gray),
                (_, true) => (ColorProfile::new_srgb(), Layout::Rgba),
                (_, false) => (ColorProfile::new_srgb(), Layout::Rgb),
            };
            let options =
                TransformOptions { rendering_intent: from.rendering_intent, ..TransformOptions::default() };
            Ok(match info.sample {
                Sample::U8 => Transform::Bytes(
                    from.create_transform_8bit(layout, &to, layout, options).map_err(failed)?,
                ),
                _ => Transform::Words(
                    from.create_transform_16bit(layout, &to, layout, options).map_err(failed)?,
                ),
            })
        })?;
        let info = ImageInfo { profile: Arc::default(), ..info.clone() };
        Ok(Managed { image, info, transform })
    }

    fn converted(&self, task: &Task, mut pixels: Pixels) -> Result<Pixels> {
        // Pages and frames may be of another kind than the first.
        if (pixels.channels, pixels.sample, pixels.alpha)
            != (self.info.channels, self.info.sample, self.info.alpha)
        {
            return Ok(pixels);
        }
        let step = STEP * pixels.channels as usize * pixels.sample.size();
        for part in pixels.data.chunks_mut(step.max(1)) {
            task.check()?;
            catch_decoder_panic("the profile", || match &self.transform {
                Transform::Bytes(transform) => {
                    let from = part.to_vec();
                    transform.transform(&from, part).map_err(failed)
                }
                Transform::Words(transform) => {
                    let from: Vec<u16> =
                        part.as_chunks::<2>().0.iter().map(|word| u16::from_le_bytes(*word)).collect();
                    let mut to = vec![0; from.len()];
                    transform.transform(&from, &mut to).map_err(failed)?;
                    for (place, word) in part.as_chunks_mut::<2>().0.iter_mut().zip(to) {
                        *place = word.to_le_bytes();
                    }
                    Ok(())
                }
            })?;
        }
        Ok(pixels)
    }
}

impl Image for Managed {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        let pixels = self.image.read(task, frame, level, rect)?;
        self.converted(task, pixels)
    }

    fn reduced(&self, task: &Task, frame: u64, width: u64, height: u64) -> Result<Option<Pixels>> {
        let pixels = self.image.reduced(task, frame, width, height)?;
        pixels.map(|pixels| self.converted(task, pixels)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(ImageInfo, Vec<u8>);

    impl Image for One {
        fn info(&self) -> &ImageInfo {
            &self.0
        }

        fn read(&self, _task: &Task, _frame: u64, _level: u32, _rect: Rect) -> Result<Pixels> {
            let ImageInfo { width, height, channels, sample, alpha, .. } = self.0;
            Ok(Pixels { width, height, channels, sample, alpha, data: self.1.clone() })
        }
    }

    fn picture(profile: ColorProfile, sample: Sample, data: Vec<u8>) -> Arc<dyn Image> {
        let info = ImageInfo {
            width: 1,
            height: 1,
            channels: 4,
            bits: sample.size() as u32 * 8,
            sample,
            alpha: true,
            frames: 1,
            levels: vec![(1, 1)],
            profile: profile.encode().unwrap().into(),
            ..ImageInfo::default()
        };
        Arc::new(One(info, data))
    }

    #[test]
    fn wide_colours_become_those_of_srgb() {
        let image = picture(ColorProfile::new_display_p3(), Sample::U8, vec![200, 100, 50, 7]);
        assert_eq!(Managed::named(image.info()).as_deref(), Some("Display P3"));
        let seen = Managed::new(image).unwrap().read(&Task::new(), 0, 0, Rect::all(1, 1)).unwrap().data;
        // By the matrices of both spaces, without black point or rounding between.
        let expected = [215, 93, 31, 7];
        assert!(seen.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 2), "{seen:?}");
        let words = [200u16, 100, 50, 7].map(|v| (v * 257).to_le_bytes()).concat();
        let image = picture(ColorProfile::new_display_p3(), Sample::U16, words);
        let seen = Managed::new(image).unwrap().read(&Task::new(), 0, 0, Rect::all(1, 1)).unwrap().data;
        let high: Vec<u8> = seen.iter().skip(1).step_by(2).copied().collect();
        assert!(high.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 2), "{high:?}");
    }

    #[test]
    fn grey_goes_by_its_curve() {
        let mut linear = ColorProfile::new_gray_with_gamma(1.0);
        let name = ["en", "US", "linear"].map(str::to_owned);
        let [language, country, name] = name;
        let name = moxcms::LocalizableString::new(language, country, name);
        linear.description = Some(ProfileText::Localizable(vec![name]));
        let grey = |sample, channels, data| {
            let image = picture(linear.clone(), sample, data);
            let info = ImageInfo { channels, alpha: channels == 2, ..image.info().clone() };
            assert_eq!(Managed::named(&info).as_deref(), Some("linear"));
            let image = image.read(&Task::new(), 0, 0, Rect::all(1, 1)).unwrap().data;
            let image: Arc<dyn Image> = Arc::new(One(info, image));
            Managed::new(image).unwrap().read(&Task::new(), 0, 0, Rect::all(1, 1)).unwrap().data
        };
        // 0.2 and a half of light, by the curve of IEC 61966-2-1.
        assert!(grey(Sample::U8, 1, vec![51])[0].abs_diff(124) <= 1);
        let seen = grey(Sample::U8, 2, vec![128, 9]);
        assert!(seen[0].abs_diff(188) <= 1 && seen[1] == 9, "{seen:?}");
        let seen = grey(Sample::U16, 1, 13_107u16.to_le_bytes().to_vec());
        assert!(u16::from_le_bytes([seen[0], seen[1]]).abs_diff(31_755) <= 64, "{seen:?}");
    }

    #[test]
    fn profiles_that_change_nothing_are_not_named() {
        let image = picture(ColorProfile::new_srgb(), Sample::U8, vec![0; 4]);
        assert_eq!(Managed::named(image.info()), None);
        let grey = ImageInfo { channels: 1, alpha: false, ..image.info().clone() };
        assert_eq!(Managed::named(&grey), None);
        let cut = ImageInfo { profile: image.info().profile[..100].into(), ..image.info().clone() };
        assert_eq!(Managed::named(&cut), None);
    }
}
