// Package picture has what the examples that draw share: their flags, the writing of their PNG
// and GIF files, and the line that says how fast they were.
//
// An example declares its own flags and leaves the rest to [Main], which opens the device,
// calls a function that returns a [Drawing], and writes it:
//
//	func main() {
//		size := flag.Int("size", 512, "rows and columns of the world")
//		picture.Main("life.gif", func(dev *runtime.Device) (*picture.Drawing, error) {
//			return life(dev, *size)
//		})
//	}
package picture
