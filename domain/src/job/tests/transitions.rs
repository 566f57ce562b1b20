//! The two state machines, exhaustively.

use crate::job::{JobStatus, NodeStatus};

#[test]
fn every_pair_of_job_statuses_is_legal_or_not_as_the_table_says() {
    use JobStatus::{Cancelled, Completed, Failed, Pending, Running};
    let legal = [
        (Pending, Running),
        (Pending, Cancelled),
        (Running, Completed),
        (Running, Failed),
        (Running, Cancelled),
    ];
    for from in JobStatus::ALL {
        for to in JobStatus::ALL {
            assert_eq!(
                from.may_become(to),
                legal.contains(&(from, to)),
                "{from:?} to {to:?}"
            );
        }
    }
    for status in JobStatus::ALL {
        let word = serde_json::to_value(status).expect("serializes");
        assert_eq!(word, status.word());
        assert_eq!(
            serde_json::from_value::<JobStatus>(word).expect("reads back"),
            status
        );
    }
}

#[test]
fn every_pair_of_node_statuses_is_legal_or_not_as_the_table_says() {
    use NodeStatus::{Completed, Dispatched, Failed, Pending, Ready, Running, Skipped};
    let legal = [
        (Pending, Ready),
        (Pending, Skipped),
        (Ready, Dispatched),
        (Ready, Skipped),
        (Ready, Failed),
        (Dispatched, Running),
        (Dispatched, Failed),
        (Running, Completed),
        (Running, Failed),
        (Failed, Ready),
    ];
    for from in NodeStatus::ALL {
        for to in NodeStatus::ALL {
            assert_eq!(
                from.may_become(to),
                legal.contains(&(from, to)),
                "{from:?} to {to:?}"
            );
        }
    }
    for status in NodeStatus::ALL {
        let word = serde_json::to_value(status).expect("serializes");
        assert_eq!(word, status.word());
        assert_eq!(
            serde_json::from_value::<NodeStatus>(word).expect("reads back"),
            status
        );
    }
}

#[test]
fn an_event_that_stands_for_several_steps_takes_only_legal_ones() {
    for from in NodeStatus::ALL {
        for to in NodeStatus::ALL {
            let Some(path) = from.path_to(to) else {
                continue;
            };
            assert_eq!((path.first(), path.last()), (Some(&from), Some(&to)));
            for pair in path.windows(2) {
                assert!(
                    pair[0].may_become(pair[1]),
                    "{from:?} to {to:?} by {path:?}"
                );
            }
        }
    }
    assert!(NodeStatus::Completed.path_to(NodeStatus::Failed).is_none());
    assert!(NodeStatus::Skipped.path_to(NodeStatus::Ready).is_none());
}
