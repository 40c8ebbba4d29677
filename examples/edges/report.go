package main

import (
	"crypto/sha256"
	"fmt"
	"image"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// Report says what a run of [Detect] did. Times are in milliseconds.
type Report struct {
	Device     string       `json:"device"`
	Model      string       `json:"model"`
	Width      int          `json:"width"`
	Height     int          `json:"height"`
	Sigma      float64      `json:"sigma"`
	Radius     int          `json:"radius"`      // of the blur, in pixels
	Threshold  float32      `json:"threshold"`   // length of the gradient where edges begin
	EdgePixels int          `json:"edge_pixels"` // that are not black
	SHA256     string       `json:"sha256"`      // of the pixels
	Kernels    []KernelCode `json:"kernels"`
	Steps      []Step       `json:"steps"`
	Compare    *Comparison  `json:"compare,omitempty"`
}

// KernelCode says where the code of a kernel came from: "compiled", "cache", or
// "process" for one that this process has used before.
type KernelCode struct {
	Kernel string  `json:"kernel"`
	Target string  `json:"target,omitempty"`
	Source string  `json:"source"`
	MS     float64 `json:"ms"`
}

// Step is the time of one step.
type Step struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// Comparison says how the result of another device differs.
type Comparison struct {
	Device  string `json:"device"`
	Pixels  int    `json:"pixels"`  // that differ
	Largest int    `json:"largest"` // difference, of 255
	SHA256  string `json:"sha256"`
	Steps   []Step `json:"steps"` // of the other device
}

func newReport(dev *runtime.Device, size image.Point, sigma float64, radius int) *Report {
	info := dev.Info()
	return &Report{Device: dev.Name(), Model: info.Model, Width: size.X, Height: size.Y, Sigma: sigma, Radius: radius}
}

func (r *Report) addKernel(name string, e jit.Event) {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if e.Source == "" {
		e.Source = "process"
	}
	r.Kernels = append(r.Kernels, KernelCode{name, e.Target, e.Source, milliseconds(e.Total)})
}

func (r *Report) addStep(name string, d time.Duration) {
	r.Steps = append(r.Steps, Step{name, milliseconds(d)})
}

func (r *Report) finish(out *image.Gray) {
	r.SHA256 = fmt.Sprintf("%x", sha256.Sum256(out.Pix))
	for _, v := range out.Pix {
		if v > 0 {
			r.EdgePixels++
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// print writes the report for people.
func (r *Report) print(w io.Writer) error {
	fmt.Fprintf(w, "%d×%d pixels on %s (%s)\n", r.Width, r.Height, r.Device, r.Model)
	fmt.Fprintf(w, "sigma %g (radius %d), threshold %g: %d edge pixels, sha256 %.16s\n\n", r.Sigma, r.Radius, r.Threshold, r.EdgePixels, r.SHA256)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "kernel\tcode from\tms\t")
	for _, k := range r.Kernels {
		fmt.Fprintf(tw, "%s\t%s\t%.2f\t\n", k.Kernel, k.Source, k.MS)
	}
	fmt.Fprintln(tw, "\t\t\t")
	fmt.Fprintln(tw, "step\t\tms\t")
	for _, s := range r.Steps {
		fmt.Fprintf(tw, "%s\t\t%.2f\t\n", s.Name, s.MS)
	}
	if c := r.Compare; c != nil {
		fmt.Fprintln(tw, "\t\t\t")
		fmt.Fprintf(tw, "step on %s\t\tms\t\n", c.Device)
		for _, s := range c.Steps {
			fmt.Fprintf(tw, "%s\t\t%.2f\t\n", s.Name, s.MS)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if c := r.Compare; c != nil {
		fmt.Fprintf(w, "\n%s against %s: %d of %d pixels differ, largest difference %d\n", r.Device, c.Device, c.Pixels, r.Width*r.Height, c.Largest)
	}
	return nil
}
