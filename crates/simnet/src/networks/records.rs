//! What simulated nodes have recorded: made up, but of a shape that a person can look at. Tests: at the end.

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::sync::Arc;

use rand::Rng;
use thalweg_medium::random::stream;
use thalweg_units::NodeId;

/// What node `node` has under `seed`, of at most `bytes` bytes: of every four nodes two have vibration as a table,
/// one a picture, one a journal. One seed gives a node one record.
pub fn record(seed: u64, node: NodeId, bytes: usize) -> Arc<[u8]> {
    let mut rng = stream(seed, "record", &[u64::from(node.get())]);
    let record = match node.get() % 4 {
        0 => picture(&mut rng, bytes),
        1 => journal(&mut rng, node, bytes),
        _ => vibration(&mut rng, bytes),
    };
    // Too short for any of that: bytes.
    match record.is_empty() {
        true => vec![node.get() as u8; bytes].into(),
        false => record.into(),
    }
}

/// Rows of time and acceleration at 200 Hz: a structure that is hit now and then, and noise.
fn vibration(rng: &mut impl Rng, bytes: usize) -> Vec<u8> {
    let mut text = String::from("t_s,x_mg,y_mg,z_mg\n");
    let (mode, mut level, mut since) = (rng.random_range(1.5..6.0), 0.0, 0.0);
    for sample in 0u32.. {
        let t = f64::from(sample) / 200.0;
        if rng.random_bool(0.002) {
            (level, since) = (rng.random_range(20.0..90.0), t);
        }
        let swing = level * f64::exp(since - t) * f64::sin(TAU * mode * (t - since));
        let mut noise = || rng.random_range(-1.5..1.5);
        let (x, y, z) = (swing + noise(), 0.3 * swing + noise(), 1_000.0 + noise());
        let mut row = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(row, "{t:.3},{x:.1},{y:.1},{z:.1}");
        if text.len() + row.len() > bytes {
            break;
        }
        text.push_str(&row);
    }
    whole(text, bytes)
}

/// A line for each quarter of an hour.
fn journal(rng: &mut impl Rng, node: NodeId, bytes: usize) -> Vec<u8> {
    let mut text = format!("journal of node {node}\n");
    let (mut volts, mut celsius) = (3.0, 18.0);
    for quarter in 0u32.. {
        volts -= rng.random_range(0.0..0.000_2);
        celsius += rng.random_range(-0.4..0.4);
        let (hour, minute) = (quarter / 4, quarter % 4 * 15);
        let state = match rng.random_bool(0.03) {
            true => "woken by the door",
            false => "all quiet",
        };
        let mut row = String::new();
        let _ = writeln!(
            row,
            "{hour:04}:{minute:02}  {volts:.3} V  {celsius:5.1} C  {state}"
        );
        if text.len() + row.len() > bytes {
            break;
        }
        text.push_str(&row);
    }
    whole(text, bytes)
}

/// `text`, where it fits.
fn whole(text: String, bytes: usize) -> Vec<u8> {
    match text.len() <= bytes {
        true => text.into_bytes(),
        false => Vec::new(),
    }
}

/// Bytes of a bitmap's headers (BITMAPFILEHEADER, BITMAPINFOHEADER), and of 256 shades.
const HEADERS: usize = 14 + 40;
const SHADES: usize = 256 * 4;

/// What a small thermal camera sees, as a bitmap of 256 shades, four wide by three high.
fn picture(rng: &mut impl Rng, bytes: usize) -> Vec<u8> {
    let head = HEADERS + SHADES;
    let pixels = bytes.saturating_sub(head);
    // Rows take a multiple of four bytes.
    let width = (((pixels as f64) * 4.0 / 3.0).sqrt() as usize) & !3;
    let height = width * 3 / 4;
    if width < 8 {
        return Vec::new();
    }
    let mut out = Vec::with_capacity(bytes);
    let mut put = |bytes: &[u8]| out.extend_from_slice(bytes);
    let u32s = |value: usize| (value as u32).to_le_bytes();
    put(b"BM");
    put(&u32s(head + width * height));
    put(&[0; 4]);
    put(&u32s(head));
    put(&u32s(40));
    put(&u32s(width));
    put(&u32s(height));
    put(&[1, 0, 8, 0]);
    put(&[0; 4]);
    put(&u32s(width * height));
    put(&[0; 8]);
    put(&u32s(256));
    put(&[0; 4]);
    for shade in 0..=255u8 {
        // From dark blue over red to light yellow: blue, green, red.
        let s = f64::from(shade) / 255.0;
        let part = |value: f64| (255.0 * value.clamp(0.0, 1.0)) as u8;
        put(&[
            part(0.45 - s + 1.2 * (s - 0.7)),
            part(1.6 * s - 0.6),
            part(1.7 * s),
            0,
        ]);
    }
    let spots: Vec<[f64; 4]> = (0..5)
        .map(|_| {
            let mut draw = |from, to| rng.random_range(from..to);
            [
                draw(0.0, 1.0),
                draw(0.0, 1.0),
                draw(0.05, 0.3),
                draw(0.3, 0.9),
            ]
        })
        .collect();
    for y in 0..height {
        for x in 0..width {
            let (u, v) = (x as f64 / width as f64, y as f64 / height as f64);
            let heat = spots.iter().map(|[cx, cy, size, heat]| {
                let (dx, dy) = ((u - cx) / size, (v - cy) * 0.75 / size);
                heat * (-dx * dx - dy * dy).exp()
            });
            let heat = heat.sum::<f64>() + rng.random_range(0.0..0.06);
            put(&[(255.0 * heat.clamp(0.0, 1.0)) as u8]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_differ_fit_and_say_what_they_are() {
        for bytes in [1, 60, 1_500, 59_000] {
            for id in 1..=8 {
                let node = NodeId::new(id).unwrap();
                let one = record(1, node, bytes);
                assert!(!one.is_empty() && one.len() <= bytes, "{id}: {}", one.len());
                assert_eq!(one, record(1, node, bytes));
                if bytes == 59_000 {
                    assert!(one.len() > 55_000, "{id}: {}", one.len());
                    assert_ne!(one, record(2, node, bytes));
                }
            }
        }
        let begins =
            |id: u16, with: &[u8]| record(3, NodeId::new(id).unwrap(), 9_000).starts_with(with);
        assert!(begins(4, b"BM") && begins(5, b"journal of node 5\n") && begins(6, b"t_s,"));
    }
}
