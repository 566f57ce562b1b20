//! Who is asked for the next messages: high, normal and low in the ratio 8 : 3 : 1.

/// Weight of each tier, most urgent first.
const WEIGHTS: [i64; 3] = [8, 3, 1];

/// Shares out slots in turns. What a tier got too little of, it gets later: none starves.
#[derive(Debug, Default)]
pub(super) struct Shares {
    credit: [i64; 3],
}

impl Shares {
    /// How many of `slots` each tier is asked for; a tier that has nothing takes no part.
    pub(super) fn deal(&mut self, slots: u32, has_some: [bool; 3]) -> [u32; 3] {
        let mut dealt = [0; 3];
        let total: i64 = tiers(has_some).map(weight).sum();
        if total == 0 {
            return dealt;
        }
        for _ in 0..slots {
            let mut best: Option<usize> = None;
            for tier in tiers(has_some) {
                if let Some(credit) = self.credit.get_mut(tier) {
                    *credit += weight(tier);
                }
                if best.is_none_or(|other| self.credit(tier) > self.credit(other)) {
                    best = Some(tier);
                }
            }
            let Some(best) = best else { break };
            if let (Some(credit), Some(share)) = (self.credit.get_mut(best), dealt.get_mut(best)) {
                *credit -= total;
                *share += 1;
            }
        }
        dealt
    }

    fn credit(&self, tier: usize) -> i64 {
        self.credit.get(tier).copied().unwrap_or(i64::MIN)
    }
}

fn weight(tier: usize) -> i64 {
    WEIGHTS.get(tier).copied().unwrap_or(0)
}

fn tiers(has_some: [bool; 3]) -> impl Iterator<Item = usize> {
    (0..3).filter(move |tier| has_some.get(*tier).copied().unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_dealt_by_weight() {
        let mut shares = Shares::default();
        assert_eq!(shares.deal(12, [true; 3]), [8, 3, 1]);
        assert_eq!(shares.deal(5, [false, false, true]), [0, 0, 5]);
        assert_eq!(shares.deal(5, [false; 3]), [0, 0, 0]);
    }

    #[test]
    fn single_slots_add_up_to_the_same_ratio_and_high_comes_first() {
        let mut shares = Shares::default();
        assert_eq!(shares.deal(1, [true; 3]), [1, 0, 0]);
        let mut sum = [1, 0, 0];
        for _ in 1..120 {
            let dealt = shares.deal(1, [true; 3]);
            for (sum, dealt) in sum.iter_mut().zip(dealt) {
                *sum += dealt;
            }
        }
        assert_eq!(sum, [80, 30, 10]);
    }
}
