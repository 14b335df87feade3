//! The pieces of a SentencePiece model: `ModelProto`, of which the pieces are the first field.
//! <https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto>

use super::tokenizer::Token;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::engines::protobuf::{Field, Part, Value as Wire};

/// What the fifth kind of pieces and the others are called.
const KINDS: [&str; 7] = ["", "normal", "unknown", "control", "user_defined", "unused", "byte"];

/// The pieces of a model, in the order of their ids, and the kind of the model.
pub(super) fn pieces(task: &Task, bytes: &[u8]) -> Result<(Vec<Token>, Option<&'static str>)> {
    let (mut tokens, mut kind) = (Vec::new(), None);
    for field in Part::new(bytes, 0).fields() {
        let Field { number, value, .. } = field?;
        match number {
            1 => {
                if tokens.len().is_multiple_of(4096) {
                    task.check()?;
                }
                let mut token = Token { id: tokens.len() as i64, ..Token::default() };
                let mut of = 1;
                for field in value.fields() {
                    let Field { number, value, .. } = field?;
                    match (number, value) {
                        (1, text) => token.text = text.text(),
                        (2, Wire::Fixed32(bytes)) => token.score = Some(f64::from(f32::from_le_bytes(bytes))),
                        (3, kind) => of = kind.uint() as usize,
                        _ => {}
                    }
                }
                token.kind = KINDS.get(of).copied().unwrap_or("unknown");
                token.special = matches!(of, 2 | 3);
                tokens.push(token);
            }
            2 => {
                let model = value.fields().flatten().find(|field| field.number == 3);
                let model = model.map_or(1, |field| field.value.uint());
                kind = ["", "Unigram", "BPE", "WordLevel", "Char"].get(model as usize).copied();
            }
            _ => {}
        }
    }
    match tokens.is_empty() {
        true => Err(Error::malformed("SentencePiece model: it has no pieces")),
        false => Ok((tokens, kind)),
    }
}
