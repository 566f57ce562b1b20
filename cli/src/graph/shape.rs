//! Outlines and icons of the node types in the SVG picture.

use super::layout::{Rect, SHEETS, SLOPE};
use super::picture::Shape;
use super::svg::Svg;

/// How far the content of a box stands off because of its outline.
pub(super) fn inset(shape: Shape) -> f64 {
    match shape {
        Shape::Start | Shape::End => 5.0,
        Shape::Task | Shape::FanOut => 0.0,
        Shape::Conditional | Shape::FanIn => SLOPE,
    }
}

impl Svg {
    /// Draws the outline and says where the front of the box is.
    pub(super) fn outline(&mut self, shape: Shape, rect: Rect) -> Rect {
        let Rect {
            x,
            y,
            width,
            height,
        } = rect;
        let (right, bottom) = (x + width, y + height);
        let fill = match shape {
            Shape::Start | Shape::End => "#e3e7eb",
            Shape::Task => "#e6f0fb",
            Shape::Conditional => "#fdf3d7",
            Shape::FanOut => "#e7f5ea",
            Shape::FanIn => "#f3e9f8",
        };
        match shape {
            Shape::Start | Shape::End => self.sheet(rect, height / 2.0, fill),
            Shape::Task => self.sheet(rect, 6.0, fill),
            Shape::FanOut => {
                let sheet = |by: f64| Rect {
                    x: x + by,
                    y: y + by,
                    width: width - SHEETS,
                    height: height - SHEETS,
                };
                for by in [SHEETS, SHEETS / 2.0, 0.0] {
                    self.sheet(sheet(by), 6.0, fill);
                }
                return sheet(0.0);
            }
            Shape::Conditional => {
                let (_, middle) = rect.middle();
                let (near, far) = (x + SLOPE, right - SLOPE);
                self.line(format_args!(
                    "<path class=\"box\" fill=\"{fill}\" d=\"M{x:.1} {middle:.1}L{near:.1} {y:.1}H{far:.1}\
                     L{right:.1} {middle:.1}L{far:.1} {bottom:.1}H{near:.1}z\"/>"
                ));
            }
            Shape::FanIn => {
                let (near, far) = (x + SLOPE, right - SLOPE);
                self.line(format_args!(
                    "<path class=\"box\" fill=\"{fill}\" d=\"M{x:.1} {y:.1}H{right:.1}L{far:.1} {bottom:.1}\
                     H{near:.1}z\"/>"
                ));
            }
        }
        rect
    }

    fn sheet(&mut self, rect: Rect, radius: f64, fill: &str) {
        let Rect {
            x,
            y,
            width,
            height,
        } = rect;
        self.line(format_args!(
            "<rect class=\"box\" fill=\"{fill}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"{radius:.1}\"/>"
        ));
    }

    /// A sign around the point (x, y), about 16 wide.
    pub(super) fn icon(&mut self, shape: Shape, x: f64, y: f64) {
        let place = format!("transform=\"translate({x:.1} {y:.1})\"");
        let path = match shape {
            Shape::Start => "<path class=\"solid\" d=\"M-5 -7L7 0L-5 7z\" @/>",
            Shape::End => "<path class=\"solid\" d=\"M-6 -6H6V6H-6z\" @/>",
            // A cog: a ring with eight teeth.
            Shape::Task => {
                "<path class=\"icon\" d=\"M0 -4A4 4 0 1 1 0 4A4 4 0 1 1 0 -4M0 -7.5V-5M0 7.5V5\
                 M-7.5 0H-5M7.5 0H5M-5.3 -5.3L-3.6 -3.6M5.3 5.3L3.6 3.6M-5.3 5.3L-3.6 3.6M5.3 -5.3L3.6 -3.6\" @/>"
            }
            // A fork in the road, one arrow out of two, one into many, many into one.
            Shape::Conditional => {
                "<path class=\"icon\" d=\"M-7 0H-2L5 -6M-2 0L5 6M1.5 -6H5V-2.5M1.5 6H5V2.5\" @/>"
            }
            Shape::FanOut => "<path class=\"icon\" d=\"M-7 0H7M-3 0L7 -6M-3 0L7 6\" @/>",
            Shape::FanIn => "<path class=\"icon\" d=\"M-7 0H7M-7 -6L3 0M-7 6L3 0\" @/>",
        };
        self.line(format_args!("{}", path.replace('@', &place)));
    }
}
