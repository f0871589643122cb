//! How far down each spot is, where straight lines would make the picture too tall: every spot is drawn to its neighbours, and
//! each layer gives way as little as it must.

use super::coordinates::Lined;

/// Times that all layers are gone through, forth and back.
const SWEEPS: usize = 12;
/// How much more a long line draws than others.
const LANE_WEIGHT: i64 = 4;

/// As far down as its middle is, for each spot in its arranged order.
pub(super) fn relaxed(lined: &Lined<'_>) -> Vec<i32> {
    let mut rows = packed(lined);
    let layers = lined.starts.len() - 1;
    for _ in 0..SWEEPS {
        (1..layers).for_each(|layer| give_way(lined, &mut rows, layer, &[0]));
        (0..layers - 1).rev().for_each(|layer| give_way(lined, &mut rows, layer, &[1]));
    }
    (0..layers).for_each(|layer| give_way(lined, &mut rows, layer, &[0, 1]));
    (0..lined.spots()).for_each(|spot| straighten(lined, &mut rows, spot, 0));
    (0..lined.spots()).rev().for_each(|spot| straighten(lined, &mut rows, spot, 1));
    rows
}

/// Every layer as dense as it can be, around the same middle.
fn packed(lined: &Lined<'_>) -> Vec<i32> {
    let mut rows = vec![0; lined.spots()];
    for layer in lined.starts.windows(2) {
        for spot in layer[0] + 1..layer[1] {
            rows[spot] = rows[spot - 1] + lined.apart(spot - 1, spot);
        }
        let middle = rows[layer[1] - 1] / 2;
        rows[layer[0]..layer[1]].iter_mut().for_each(|row| *row -= middle);
    }
    rows
}

/// Spots that touch each other, and move as one.
struct Cluster {
    /// The sum of where its spots want its first one to be, by their weights.
    sum: i64,
    weight: i64,
    spots: usize,
}

impl Cluster {
    fn is_above(&self, next: &Cluster) -> bool {
        self.sum * next.weight <= next.sum * self.weight
    }
}

/// Puts the spots of a layer where their neighbours on these sides are, in their order and apart: the least sum of squares.
fn give_way(lined: &Lined<'_>, rows: &mut [i32], layer: usize, sides: &[usize]) {
    let (begin, end) = (lined.starts[layer], lined.starts[layer + 1]);
    let mut clusters: Vec<Cluster> = Vec::with_capacity(end - begin);
    let mut offset = 0;
    for spot in begin..end {
        if spot > begin {
            offset += i64::from(lined.apart(spot - 1, spot));
        }
        let (wish, weight) = wish(lined, rows, spot, sides);
        clusters.push(Cluster { sum: (wish - offset) * weight, weight, spots: 1 });
        while let [.., above, last] = &mut clusters[..]
            && !above.is_above(last)
        {
            above.sum += last.sum;
            above.weight += last.weight;
            above.spots += last.spots;
            clusters.pop();
        }
    }
    let (mut spot, mut offset) = (begin, 0);
    for cluster in clusters {
        let first = cluster.sum.div_euclid(cluster.weight);
        for _ in 0..cluster.spots {
            if spot > begin {
                offset += i64::from(lined.apart(spot - 1, spot));
            }
            rows[spot] = (first + offset) as i32;
            spot += 1;
        }
    }
}

/// Where a spot wants to be: the mean of its neighbours, and how much that counts.
fn wish(lined: &Lined<'_>, rows: &[i32], spot: usize, sides: &[usize]) -> (i64, i64) {
    let (mut sum, mut weight) = (0, 0);
    for &(other, _) in sides.iter().flat_map(|&side| lined.sides[side].get(spot)) {
        let own = if lined.is_inner(spot, other as usize) { LANE_WEIGHT } else { 1 };
        sum += i64::from(rows[other as usize]) * own;
        weight += own;
    }
    match weight {
        0 => (i64::from(rows[spot]), 1),
        _ => (sum.div_euclid(weight), weight),
    }
}

/// Level with the lane it goes on, or with its only neighbour, as far as there is room.
fn straighten(lined: &Lined<'_>, rows: &mut [i32], spot: usize, side: usize) {
    let links = lined.sides[side].get(spot);
    let lane = links.iter().find(|(other, _)| lined.is_inner(spot, *other as usize));
    let only = links.first().filter(|_| links.len() == 1 && side == 0);
    let Some(&(other, _)) = lane.or(only) else { return };
    let highest = lined.beside(spot, false).map_or(i32::MIN, |above| rows[above] + lined.apart(above, spot));
    let lowest = lined.beside(spot, true).map_or(i32::MAX, |below| rows[below] - lined.apart(spot, below));
    let row = rows[other as usize];
    if (highest..=lowest).contains(&row) {
        rows[spot] = row;
    }
}
