//! Cells of boxes everywhere.

use std::collections::BTreeSet;

use h3o::{CellIndex, LatLng, Resolution};
use proptest::prelude::*;

use super::shape::{Area, ring};
use super::{cover, descendants, descendants_count, estimate, world_count};

const MANY: u64 = 5_000_000;

/// What `cover` must find, by asking every cell of the world.
fn asked(bounds: [f64; 4], resolution: Resolution, containment: &str) -> Vec<u64> {
    let [west, south, east, north] = bounds;
    let east = if west > east { east + 360.0 } else { east };
    let area = Area {
        west,
        south,
        east,
        north,
    };
    CellIndex::base_cells()
        .flat_map(|base| base.children(resolution))
        .filter(|&cell| match containment {
            "covers" => area.touches(&ring(cell)),
            "contains" => area.holds(&ring(cell)),
            _ => area.has_point(LatLng::from(cell)),
        })
        .map(u64::from)
        .collect()
}

fn bounds() -> impl Strategy<Value = [f64; 4]> {
    let lng = || prop_oneof![8 => -180.0..=180.0, 1 => Just(-180.0), 1 => Just(180.0)];
    let lat = || prop_oneof![8 => -90.0..=90.0, 1 => Just(-90.0), 1 => Just(90.0)];
    (lng(), lat(), lng(), lat()).prop_map(|(w, s, e, n)| [w, f64::min(s, n), e, f64::max(s, n)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn descending_finds_what_asking_every_cell_finds(bounds in bounds(), resolution in 0_u8..=3) {
        let fine = Resolution::try_from(resolution).unwrap();
        for containment in ["covers", "contains", "centroid"] {
            let found = cover(bounds, resolution, containment, MANY).unwrap();
            prop_assert_eq!(found, asked(bounds, fine, containment));
        }
    }

    #[test]
    fn a_point_of_the_box_lies_in_a_cell_that_covers_it(
        bounds in bounds(), x in 0.0..=1.0, y in 0.0..=1.0,
    ) {
        let [west, south, east, north] = bounds;
        let width = if west > east { east + 360.0 - west } else { east - west };
        let lat = south + (north - south) * y;
        // Edges of cells are bent on the globe and straight here: at a pole that is far apart.
        prop_assume!(f64::abs(lat) < 80.0);
        let point = LatLng::new(lat, west + width * x).unwrap();
        let cells: BTreeSet<_> = cover(bounds, 3, "covers", MANY).unwrap().into_iter().collect();
        let cell = point.to_cell(Resolution::Three);
        prop_assert!(cell.grid_disk::<Vec<_>>(1).into_iter().any(|near| cells.contains(&near.into())));
    }
}

#[test]
fn the_whole_world_is_every_cell_once() {
    for containment in ["covers", "contains", "centroid"] {
        let cells = cover([-180.0, -90.0, 180.0, 90.0], 3, containment, MANY).unwrap();
        assert_eq!(u64::try_from(cells.len()).unwrap(), world_count(3).unwrap());
        assert!(cells.is_sorted_by(|a, b| a < b));
    }
    assert_eq!(
        estimate([-180.0, -90.0, 180.0, 90.0], 15).unwrap(),
        569_707_381_193_162
    );
}

#[test]
fn a_box_across_the_antimeridian_is_its_two_halves() {
    let both: BTreeSet<_> = [[179.0, -1.0, 180.0, 1.0], [-180.0, -1.0, -179.0, 1.0]]
        .into_iter()
        .flat_map(|half| cover(half, 6, "covers", MANY).unwrap())
        .collect();
    let across = cover([179.0, -1.0, -179.0, 1.0], 6, "covers", MANY).unwrap();
    assert_eq!(across, both.into_iter().collect::<Vec<_>>());
    let around = cover([-179.0, -1.0, 179.0, 1.0], 6, "covers", MANY).unwrap();
    assert!(around.len() > 100 * across.len());
}

#[test]
fn a_cap_has_the_cell_on_the_pole() {
    for (bounds, pole) in [
        ([-180.0, 89.9, 180.0, 90.0], 90.0),
        ([-180.0, -90.0, 180.0, -89.9], -90.0),
    ] {
        let on_pole = LatLng::new(pole, 0.0).unwrap().to_cell(Resolution::Four);
        assert!(
            cover(bounds, 4, "covers", MANY)
                .unwrap()
                .contains(&on_pole.into())
        );
        let all = cover(
            [-180.0, bounds[1].min(60.0), 180.0, bounds[3].max(-60.0)],
            4,
            "contains",
            MANY,
        );
        assert!(all.unwrap().contains(&on_pole.into()));
        let wedge = cover([0.0, bounds[1], 10.0, bounds[3]], 4, "covers", MANY).unwrap();
        assert!(wedge.contains(&on_pole.into()));
    }
}

#[test]
fn a_point_has_its_cell() {
    let cells = cover([13.4, 52.5, 13.4, 52.5], 15, "covers", 10).unwrap();
    let own = LatLng::new(52.5, 13.4)
        .unwrap()
        .to_cell(Resolution::Fifteen);
    assert_eq!(cells, [u64::from(own)]);
}

#[test]
fn too_many_cells_are_refused_at_once() {
    let world = [-180.0, -90.0, 180.0, 90.0];
    assert_eq!(
        cover(world, 15, "covers", 100_000_000).unwrap_err().code,
        "too_many_cells"
    );
    assert_eq!(
        cover(world, 2, "covers", 5_881).unwrap_err().code,
        "too_many_cells"
    );
    assert_eq!(cover(world, 2, "covers", 5_882).unwrap().len(), 5_882);
    let thin = [-180.0, 0.0, 180.0, 0.0];
    assert_eq!(
        cover(thin, 15, "centroid", 1_000).unwrap_err().code,
        "too_many_cells"
    );
}

#[test]
fn what_is_no_box_is_refused() {
    for bounds in [
        [0.0, 10.0, 10.0, 0.0],
        [0.0, -91.0, 10.0, 0.0],
        [f64::NAN, 0.0, 1.0, 1.0],
        [0.0, 0.0, 181.0, 1.0],
    ] {
        assert_eq!(cover(bounds, 1, "covers", 10).unwrap_err().code, "bounds");
    }
    assert_eq!(
        cover([0.0; 4], 16, "covers", 1).unwrap_err().code,
        "h3_resolution"
    );
    assert_eq!(
        cover([0.0; 4], 1, "near", 1).unwrap_err().code,
        "h3_containment"
    );
}

#[test]
fn descendants_are_as_many_as_counted() {
    let parents = cover([-10.0, 40.0, 10.0, 50.0], 2, "covers", MANY).unwrap();
    let count = descendants_count(&parents, 5, MANY).unwrap();
    let made: Vec<u64> = descendants(&parents, 5).unwrap().collect();
    assert_eq!(u64::try_from(made.len()).unwrap(), count);
    assert!(made.is_sorted_by(|a, b| a < b));
    assert_eq!(
        descendants_count(&parents, 5, count - 1).unwrap_err().code,
        "too_many_cells"
    );
    assert_eq!(
        descendants_count(&[1], 5, MANY).unwrap_err().code,
        "h3_cell"
    );
}
