package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"io"
	"os"
	"time"

	"github.com/gokiln/kiln/runtime"
)

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	}
	if err := o.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "edges:", err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	in, out, device, compare string
	sigma                    float64
	json                     bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("edges", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.in, "in", "", "picture to read, PNG or JPEG (default a built-in one)")
	f.StringVar(&o.out, "out", "edges.png", "PNG file to write, empty for none")
	f.StringVar(&o.device, "device", "auto", "device: auto, cpu, or one that kiln devices lists")
	f.Float64Var(&o.sigma, "sigma", 1.4, "standard deviation of the blur in pixels")
	f.StringVar(&o.compare, "compare", "", "a second device, to compare the result with")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q: name the picture with -in", f.Arg(0))
		fmt.Fprintln(stderr, "edges:", err)
		return o, err
	}
	return o, nil
}

// errDiffer makes the command fail after it has reported how devices differ.
var errDiffer = errors.New("the devices do not agree")

func (o options) run(w io.Writer) error {
	var img image.Image
	var decode time.Duration
	edges, report, err := detectOn(o.device, o.sigma, func() (_ image.Image, err error) {
		start := time.Now()
		img, err = load(o.in)
		decode = time.Since(start)
		return img, err
	})
	if err != nil {
		return err
	}
	report.Steps = append([]Step{{"decode", milliseconds(decode)}}, report.Steps...)
	start := time.Now()
	if err := save(o.out, edges); err != nil {
		return err
	}
	report.addStep("encode", time.Since(start))
	if o.compare != "" {
		if report.Compare, err = compare(o.compare, img, o.sigma, edges); err != nil {
			return err
		}
	}
	if err := o.print(w, report); err != nil {
		return err
	}
	if c := report.Compare; c != nil && c.Pixels > 0 {
		return errDiffer
	}
	return nil
}

func (o options) print(w io.Writer, r *Report) error {
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	if err := r.print(w); err != nil {
		return err
	}
	if o.out != "" {
		fmt.Fprintf(w, "\nwrote %s\n", o.out)
	}
	return nil
}

// detectOn is Detect on the device of that name. The picture is read while the kernels
// are prepared, so that the step "kernels" is what is left to wait for.
func detectOn(name string, sigma float64, read func() (image.Image, error)) (*image.Gray, *Report, error) {
	dev, err := runtime.Open(name)
	if err != nil {
		return nil, nil, err
	}
	k := prepare(dev)
	img, err := read()
	if err != nil {
		<-k.done
		return nil, nil, errors.Join(err, dev.Close())
	}
	edges, report, err := k.detect(img, sigma)
	return edges, report, errors.Join(err, dev.Close())
}

// compare runs the same on another device and counts the differences.
func compare(name string, img image.Image, sigma float64, want *image.Gray) (*Comparison, error) {
	got, report, err := detectOn(name, sigma, func() (image.Image, error) { return img, nil })
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	c := &Comparison{Device: report.Device, SHA256: report.SHA256, Steps: report.Steps}
	c.Pixels, c.Largest = difference(want, got)
	return c, nil
}

// difference counts the pixels that are not the same in two pictures of one
// size, and returns the largest difference.
func difference(a, b *image.Gray) (pixels, largest int) {
	for i, v := range a.Pix {
		d := int(v) - int(b.Pix[i])
		if d != 0 {
			pixels++
			largest = max(largest, d, -d)
		}
	}
	return pixels, largest
}
