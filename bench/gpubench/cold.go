package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/examples/swiglu/kernels"
	"github.com/gokiln/kiln/jit"
)

// coldChild is the flag of the measured process.
const coldChild = "cold-process"

// coldRepeats is how many fresh processes are measured for each case.
const coldRepeats = 7

// coldTimes is what one process reports, in ms.
type coldTimes struct {
	Source                         string
	Open                           float64 // driver and context
	Front, Emit, Link, Load, Total float64
}

// coldSuite measures fresh processes: with an empty cache, so that everything
// from the Go source to the machine code is made, and with the cache that such
// a process left. The driver's own cache is off, as it would hide its compiler.
func coldSuite(c config) ([]figure.Row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var cold, warm []coldTimes
	for range coldRepeats {
		dir, err := os.MkdirTemp("", "kiln-cold-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		for _, list := range []*[]coldTimes{&cold, &warm} {
			t, err := freshProcess(self, c.device, dir)
			if err != nil {
				return nil, err
			}
			*list = append(*list, t)
		}
	}
	return append(coldRows("cold: no cache", "compiled", cold), coldRows("warm: cached", "cache", warm)...), nil
}

// coldRows summarises one case. A process that did not do what the case is
// about shows in the note.
func coldRows(what, source string, list []coldTimes) []figure.Row {
	pick := func(part func(coldTimes) float64) []float64 {
		var xs []float64
		for _, t := range list {
			xs = append(xs, part(t))
		}
		return xs
	}
	total := figure.Of("cold", what, "kiln", "ms", "", pick(func(t coldTimes) float64 { return t.Total }))
	med := func(part func(coldTimes) float64) float64 { return figure.Quantile(pick(part), 0.5) }
	total.Note = fmt.Sprintf("front %.2f, emit %.2f, driver's linker %.2f, load %.2f; opening the device %.0f not counted",
		med(func(t coldTimes) float64 { return t.Front }), med(func(t coldTimes) float64 { return t.Emit }),
		med(func(t coldTimes) float64 { return t.Link }), med(func(t coldTimes) float64 { return t.Load }),
		med(func(t coldTimes) float64 { return t.Open }))
	for _, t := range list {
		if t.Source != source {
			total.Note = fmt.Sprintf("NOT AS MEANT: source %q, want %q; %s", t.Source, source, total.Note)
			break
		}
	}
	return []figure.Row{total}
}

// freshProcess measures one process with the cache folder dir.
func freshProcess(self, device, dir string) (coldTimes, error) {
	var t coldTimes
	cmd := exec.Command(self, "-"+coldChild, "swiglu", "-device", device)
	cmd.Env = append(os.Environ(), "KILN_CACHE_DIR="+dir, "KILN_JIT=auto", "CUDA_CACHE_DISABLE=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return t, fmt.Errorf("measured process: %w", err)
	}
	return t, json.Unmarshal(out, &t)
}

// coldProcess is the measured process: it opens the device and prepares one
// kernel.
func coldProcess(c config, kernel string, w io.Writer) error {
	if kernel != "swiglu" {
		return fmt.Errorf("no kernel %q", kernel)
	}
	begin := time.Now()
	dev, err := openGPU(c.device)
	if err != nil {
		return err
	}
	defer dev.Close()
	t := coldTimes{Open: ms(time.Since(begin))}
	stop := jit.OnResolve(func(e jit.Event) {
		t.Source = e.Source
		t.Front, t.Emit, t.Link, t.Load = ms(e.Front), ms(e.Emit), ms(e.Link), ms(e.Load)
	})
	defer stop()
	begin = time.Now()
	if err := jit.Of(kernels.SwiGLU[float32]).Prepare(dev); err != nil {
		return err
	}
	t.Total = ms(time.Since(begin))
	return json.NewEncoder(w).Encode(t)
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
