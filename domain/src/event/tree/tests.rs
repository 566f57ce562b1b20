//! The tree against a naive one by the book, and against the numbers of RFC 6962's own implementation.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The definition of RFC 6962, word for word.
fn naive(leaves: &[Vec<u8>]) -> Hash {
    match leaves {
        [] => Sha256::digest([]).into(),
        [one] => leaf_node(one),
        many => {
            let mut k = 1;
            while k * 2 < many.len() {
                k *= 2;
            }
            inner_node(&naive(&many[..k]), &naive(&many[k..]))
        }
    }
}

fn leaves(count: u64) -> Vec<Vec<u8>> {
    (0..count)
        .map(|n| leaf_node(&n.to_be_bytes()).to_vec())
        .collect()
}

fn slice(leaves: &[Vec<u8>], range: Range) -> &[Vec<u8>] {
    &leaves[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
}

fn hashes(leaves: &[Vec<u8>], ranges: &[Range]) -> Vec<Hash> {
    ranges.iter().map(|r| naive(slice(leaves, *r))).collect()
}

fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn roots_are_those_of_the_test_vectors_of_certificate_transparency() {
    let leaves: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    let roots = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let mut tree = Compact::default();
    assert_eq!(hex(&tree.root()), roots[0]);
    for (leaf, root) in leaves.iter().zip(&roots[1..]) {
        tree.push_node(0, leaf_node(leaf), |_, _| {});
        assert_eq!(hex(&tree.root()), *root);
    }
    // Audit and consistency paths of the same vectors.
    let all: Vec<Vec<u8>> = leaves.iter().map(|leaf| leaf.to_vec()).collect();
    let path = |ranges: Option<Vec<Range>>, size: usize| -> Vec<String> {
        hashes(&all[..size], &ranges.unwrap())
            .iter()
            .map(hex)
            .collect()
    };
    assert_eq!(
        path(inclusion(5, 8), 8),
        [
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]
    );
    assert_eq!(
        path(consistency(6, 8), 8),
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]
    );
}

#[test]
fn every_leaf_and_every_older_tree_is_proven_in_all_small_trees() {
    for size in 1..=40 {
        let all = leaves(size);
        let root = naive(&all);
        for leaf in 0..size {
            let path = hashes(&all, &inclusion(leaf, size).unwrap());
            let node = leaf_node(&all[usize::try_from(leaf).unwrap()]);
            assert_eq!(root_of_inclusion(leaf, size, &node, &path), Some(root));
            let (many, one) = (cover(&[leaf], size), inclusion(leaf, size).unwrap());
            assert_eq!(many.len(), one.len());
            assert!(many.iter().all(|range| one.contains(range)));
        }
        for old in 0..=size {
            let path = hashes(&all, &consistency(old, size).unwrap());
            let old_root = naive(slice(&all, Range { start: 0, end: old }));
            let (old, new) = ((old, &old_root), (size, &root));
            assert!(is_consistent(old, new, &path), "{old:?} in {size}");
            if old.0 != 0 && old.0 != size {
                assert!(!is_consistent((old.0, &root), new, &path));
                assert!(!is_consistent(old, (size, &old_root), &path));
                let longer = [path, vec![root]].concat();
                assert!(!is_consistent(old, new, &longer));
            }
        }
        assert_eq!(inclusion(size, size), None);
        assert_eq!(consistency(size + 1, size), None);
    }
}

proptest! {
    #[test]
    fn a_tree_that_grows_is_the_naive_one_and_knows_its_subtrees(size in 0_u64..600, whole in 0_u32..6) {
        let all = leaves(size);
        let mut known = BTreeMap::new();
        let mut tree = Compact::default();
        let step = 1_u64 << whole;
        // Whole subtrees first, and then leaf by leaf.
        while tree.size() + step <= size {
            let range = Range { start: tree.size(), end: tree.size() + step };
            tree.push_node(whole, naive(slice(&all, range)), |place, hash| { known.insert(place, hash); });
        }
        while tree.size() < size {
            let leaf: Hash = all[usize::try_from(tree.size()).unwrap()].clone().try_into().unwrap();
            tree.push(&leaf, |place, hash| { known.insert(place, hash); });
        }
        prop_assert_eq!(tree.size(), size);
        prop_assert_eq!(tree.root(), naive(&all));
        for (place, hash) in &known {
            let start = place.index << place.level;
            let range = Range { start, end: start + (1 << place.level) };
            prop_assert_eq!(*hash, naive(slice(&all, range)));
        }
        let peaks: Vec<Hash> = Compact::places(size).iter().map(|place| {
            let start = place.index << place.level;
            naive(slice(&all, Range { start, end: start + (1 << place.level) }))
        }).collect();
        prop_assert_eq!(Compact::resume(size, peaks), Some(tree));
        prop_assert_eq!(Compact::resume(size, vec![[0; 32]; size.count_ones() as usize + 1]), None);
    }

    #[test]
    fn many_leaves_are_proven_at_once_and_nothing_else_passes(
        size in 1_u64..300,
        picked in proptest::collection::vec(any::<prop::sample::Index>(), 1..20),
        spoilt in any::<prop::sample::Index>(),
    ) {
        let all = leaves(size);
        let mut picked: Vec<u64> = picked.iter().map(|i| i.index(all.len()) as u64).collect();
        picked.sort_unstable();
        picked.dedup();
        let path = hashes(&all, &cover(&picked, size));
        let nodes: Vec<(u64, Hash)> = picked
            .iter()
            .map(|leaf| (*leaf, leaf_node(&all[usize::try_from(*leaf).unwrap()])))
            .collect();
        let root = Some(naive(&all));
        prop_assert_eq!(root_of_cover(size, &nodes, &path), root);
        let mut other = nodes.clone();
        let which = spoilt.index(other.len());
        other[which].1[0] ^= 1;
        prop_assert_ne!(root_of_cover(size, &other, &path), root);
        // A leaf at another place is another tree.
        let mut moved = nodes.clone();
        moved[which].0 ^= 1;
        prop_assert_ne!(root_of_cover(size, &moved, &path), root);
        prop_assert_eq!(root_of_cover(size, &nodes, &[path.clone(), vec![[7; 32]]].concat()), None);
        if !path.is_empty() {
            prop_assert_eq!(root_of_cover(size, &nodes, &path[1..]), None);
            let mut path = path;
            let which = spoilt.index(path.len());
            path[which][31] ^= 1;
            prop_assert_ne!(root_of_cover(size, &nodes, &path), root);
        }
    }
}
