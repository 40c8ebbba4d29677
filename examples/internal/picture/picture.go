package picture

import (
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gokiln/kiln/runtime"
)

// Drawing is what an example drew, and how fast.
type Drawing struct {
	Frames []image.Image // a picture, or the *image.Paletted of an animation
	Delay  int           // of each frame, in hundredths of a second
	Work   float64       // what was computed in Time: so many of Unit
	Unit   string
	Time   time.Duration
}

// Main is the main function of an example: it draws on the device that the flag -device
// names and writes the file that -o names. The example declares its other flags before.
func Main(file string, draw func(dev *runtime.Device) (*Drawing, error)) {
	device := flag.String("device", "auto", "device: auto, cpu, or one that kiln devices lists")
	out := flag.String("o", file, "file to write")
	flag.Parse()
	if err := run(os.Stdout, *device, *out, draw); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}

func run(w io.Writer, device, file string, draw func(dev *runtime.Device) (*Drawing, error)) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: there are only flags, see -h", flag.Arg(0))
	}
	dev, err := runtime.Open(device)
	if err != nil {
		return err
	}
	defer dev.Close()
	d, err := draw(dev)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %.1f million %s/s\n", dev.Name(), d.Work/1e6/d.Time.Seconds(), d.Unit)
	return d.Save(file)
}

// AddFrame adds the pixels on a device as a frame, and waits for the kernels that make them.
func (d *Drawing) AddFrame(pixels runtime.Slice[uint8], width int, p color.Palette) error {
	frame := image.NewPaletted(image.Rect(0, 0, width, pixels.Len()/width), p)
	d.Frames = append(d.Frames, frame)
	return pixels.CopyTo(frame.Pix)
}

// Save writes one frame to a PNG file, and several to a GIF file that repeats them for ever.
func (d *Drawing) Save(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := d.encode(f); err != nil {
		f.Close()
		return fmt.Errorf("encode %s: %w", file, err)
	}
	return f.Close()
}

func (d *Drawing) encode(w io.Writer) error {
	if len(d.Frames) == 1 {
		return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, d.Frames[0])
	}
	anim := &gif.GIF{}
	for _, f := range d.Frames {
		p, ok := f.(*image.Paletted)
		if !ok {
			return fmt.Errorf("a frame is %T, and those of an animation are *image.Paletted", f)
		}
		anim.Image = append(anim.Image, p)
		anim.Delay = append(anim.Delay, d.Delay)
	}
	return gif.EncodeAll(w, anim)
}

// Grid covers width × height pixels with blocks of 64×4 threads, a thread for each pixel.
func Grid(width, height int) runtime.Grid {
	return runtime.Grid{
		Blocks:  runtime.Dim3{X: (width + 63) / 64, Y: (height + 3) / 4},
		Threads: runtime.Dim3{X: 64, Y: 4},
	}
}

// Gradient returns n colours from one to another.
func Gradient(n int, from, to color.RGBA) (p color.Palette) {
	for i := range n {
		between := func(a, b uint8) uint8 { return uint8((int(a)*(n-1-i) + int(b)*i) / max(n-1, 1)) }
		p = append(p, color.RGBA{R: between(from.R, to.R), G: between(from.G, to.G), B: between(from.B, to.B), A: 255})
	}
	return p
}
