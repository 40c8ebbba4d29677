package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// version is one compilation of a kernel.
type version struct {
	name    string
	launch  func() error
	info    runtime.FunctionInfo
	batch   int // launches in a sample
	samples []float64
}

// result is what was measured of a case, ours first.
type result struct {
	name     string
	bytes    float64
	flops    float64
	versions []*version
}

// measure checks and times every version of a case.
func measure(dev *runtime.Device, c config, k testCase) (result, error) {
	p, err := k.build(dev, false)
	if err != nil {
		return result{}, err
	}
	defer p.free()
	r := result{name: k.name, bytes: p.bytes, flops: p.flops}
	ours, err := oursOf(dev, k, p)
	if err != nil {
		return r, err
	}
	r.versions = append(r.versions, ours)
	for _, suffix := range []string{"", ".fmad"} {
		v, err := twinOf(dev, c, k, p, suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return r, err
		}
		r.versions = append(r.versions, v)
	}
	for _, v := range r.versions {
		if err := p.reset(); err != nil {
			return r, err
		}
		if err := v.launch(); err != nil {
			return r, fmt.Errorf("%s: %w", v.name, err)
		}
		if err := p.check(); err != nil {
			return r, fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return r, sample(dev, c, r.versions)
}

// oursOf compiles the kernel as any program would, by its first launch, and
// reads what the driver knows of the variant that this launch chose.
func oursOf(dev *runtime.Device, k testCase, p *problem) (*version, error) {
	kernel := jit.Of(k.kernel)
	v := &version{name: "kiln", launch: func() error { return kernel.Launch(dev.DefaultStream(), p.grid, p.args...) }}
	if err := v.launch(); err != nil {
		return nil, err
	}
	var err error
	v.info, err = kernel.Info(dev)
	return v, err
}

// twinOf loads the twin from a file of the folder.
func twinOf(dev *runtime.Device, c config, k testCase, p *problem, suffix string) (*version, error) {
	code, err := os.ReadFile(filepath.Join(c.cubins, k.file+suffix+".cubin"))
	if err != nil {
		return nil, err
	}
	m, err := dev.Load(runtime.Image{Format: "cubin", Name: k.name, Code: code})
	if err != nil {
		return nil, err
	}
	fn, err := m.Function(k.name)
	if err != nil {
		return nil, err
	}
	block := pack(p.args)
	return &version{name: "nvcc" + suffix, info: fn.Info(), launch: func() error {
		return dev.DefaultStream().Launch(fn, p.grid, 0, block)
	}}, nil
}

// sample times the versions in turn.
func sample(dev *runtime.Device, c config, versions []*version) error {
	s := dev.DefaultStream()
	begin, err := dev.NewEvent()
	if err != nil {
		return err
	}
	end, err := dev.NewEvent()
	if err != nil {
		return err
	}
	timed := func(v *version, n int) (time.Duration, error) {
		if err := s.Record(begin); err != nil {
			return 0, err
		}
		for range n {
			if err := v.launch(); err != nil {
				return 0, err
			}
		}
		if err := s.Record(end); err != nil {
			return 0, err
		}
		if err := end.Sync(); err != nil {
			return 0, err
		}
		return end.Elapsed(begin)
	}
	for _, v := range versions { // also the warm-up
		if _, err := timed(v, 2); err != nil {
			return err
		}
		took, err := timed(v, 4)
		if err != nil {
			return err
		}
		v.batch = max(int(4*c.batch/max(took, 1)), 1)
	}
	for range c.samples {
		for _, v := range versions {
			took, err := timed(v, v.batch)
			if err != nil {
				return err
			}
			v.samples = append(v.samples, took.Seconds()/float64(v.batch))
		}
	}
	return nil
}

// median returns the middle sample in seconds.
func (v *version) median() float64 {
	s := slices.Sorted(slices.Values(v.samples))
	return s[len(s)/2]
}

// writeTable prints a line a case and the geometric means of the ratios: our
// time over nvcc's, so that below one is faster.
func writeTable(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "kernel\tkiln µs\tnvcc µs\tratio\tratio to fmad\trate\tregisters\tnvcc\tlocal bytes\tnvcc")
	logs, n := [2]float64{}, [2]int{}
	for _, r := range results {
		ours := r.versions[0]
		ratio, other := [2]string{"-", "-"}, runtime.FunctionInfo{}
		micro := "-"
		for i, v := range r.versions[1:] {
			x := ours.median() / v.median()
			ratio[i] = fmt.Sprintf("%.3f", x)
			logs[i], n[i] = logs[i]+math.Log(x), n[i]+1
			if i == 0 {
				micro, other = fmt.Sprintf("%.1f", v.median()*1e6), v.info
			}
		}
		fmt.Fprintf(t, "%s\t%.1f\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\n", r.name, ours.median()*1e6, micro, ratio[0], ratio[1], r.rate(),
			ours.info.Registers, other.Registers, ours.info.Local, other.Local)
	}
	fmt.Fprintf(t, "geometric mean\t\t\t%s\t%s\n", mean(logs[0], n[0]), mean(logs[1], n[1]))
	return t.Flush()
}

// rate is what our version reaches of whatever the kernel is bound by.
func (r *result) rate() string {
	took := r.versions[0].median()
	if r.flops > 0 {
		return fmt.Sprintf("%.2f Tflop/s", r.flops/took/1e12)
	}
	return fmt.Sprintf("%.0f GB/s", r.bytes/took/1e9)
}

func mean(sum float64, n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", math.Exp(sum/float64(n)))
}
