package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// kernels is how many a process uses.
const kernels = 200

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "firstop:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("firstop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	device := flags.String("device", "cpu", "device to measure")
	child := flags.Bool("child", false, "be the measured process")
	bundles := flags.String("bundle", "", "bundles to measure, separated by commas")
	record := flags.String("record", "", "write what is used to this file and stop")
	samples := flags.Int("samples", 7, "processes for each case")
	asJSON := flags.Bool("json", false, "print lines of JSON, as gpubench does")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *child {
		t, err := use(*device)
		if err != nil {
			return err
		}
		return json.NewEncoder(stdout).Encode(t)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := bench{self: self, device: *device, samples: *samples}
	if *record != "" {
		_, err := b.process("KILN_RECORD="+*record, "KILN_JIT=off")
		return err
	}
	rows, err := b.rows(strings.FieldsFunc(*bundles, func(r rune) bool { return r == ',' }))
	if err != nil {
		return err
	}
	if *asJSON {
		return figure.WriteJSON(stdout, rows)
	}
	return figure.WriteList(stdout, rows)
}

// times is what one process reports, in ms.
type times struct {
	Open    float64        // driver and context
	Total   float64        // all kernels found, loaded, and run once
	Find    float64        // of Total: code found or made
	Load    float64        // of Total: code given to the driver
	Kernels int            // that were resolved
	Sources map[string]int // "compiled", "cache", "bundle"
}

// use runs elementwise operations of all types on one element each until so many kernels
// were used.
func use(device string) (*times, error) {
	t := &times{Sources: map[string]int{}}
	defer jit.OnResolve(func(e jit.Event) {
		t.Sources[e.Source]++
		t.Load += e.Load.Seconds() * 1000
		t.Find += (e.Total - e.Load).Seconds() * 1000
	})()
	begin := time.Now()
	dev, err := runtime.Open(device)
	if err != nil {
		return nil, err
	}
	s := dev.DefaultStream()
	mem, err := runtime.Alloc[byte](dev, 1<<12)
	if err != nil {
		return nil, err
	}
	result, err := runtime.Alloc[byte](dev, 1<<12)
	if err != nil {
		return nil, err
	}
	if err := dev.Sync(); err != nil {
		return nil, err
	}
	t.Open = ms(begin)
	begin = time.Now()
	for _, op := range elementwise.Elementwises() {
		for _, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.F16, dtype.I32, dtype.F64} {
			if !op.Takes(d) || t.Kernels == kernels {
				continue
			}
			x := ops.View{Buf: mem.Buffer(), DType: d, Layout: layout.Contiguous(layout.Shape{1})}
			out := ops.View{Buf: result.Buffer(), DType: op.Result(d), Layout: x.Layout}
			operands, numbers := make([]ops.View, op.Operands()), make([]dtype.Scalar, op.Params())
			for i := range operands {
				operands[i] = x
			}
			for i := range numbers {
				numbers[i] = dtype.FromFloat(dtype.F64, 1)
			}
			if err := op.Run(s, out, operands, numbers...); err != nil {
				return nil, err
			}
			t.Kernels++
		}
	}
	if err := dev.Sync(); err != nil {
		return nil, err
	}
	t.Total = ms(begin)
	return t, nil
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// bench starts processes.
type bench struct {
	self, device string
	samples      int
}

// rows measures the cases: without a cache, with the one that such a process left, and with each
// bundle and an empty cache that must stay so.
func (b *bench) rows(bundles []string) ([]figure.Row, error) {
	dir, err := os.MkdirTemp("", "kiln-firstop-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	warm := filepath.Join(dir, "warm")
	cases := []struct {
		what, source string
		env          []string
	}{
		{"cold: compiled", "compiled", []string{"KILN_CACHE_DIR=" + filepath.Join(dir, "cold-*")}},
		{"warm: cached", "cache", []string{"KILN_CACHE_DIR=" + warm}},
	}
	for _, name := range bundles {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		cases = append(cases, struct {
			what, source string
			env          []string
		}{"bundle " + filepath.Base(name), "bundle", []string{"KILN_CACHE_DIR=" + filepath.Join(dir, "none"), "KILN_JIT=readonly", "KILN_BUNDLES=" + abs}})
	}
	if _, err := b.process("KILN_CACHE_DIR=" + warm); err != nil {
		return nil, err
	}
	var rows []figure.Row
	for _, c := range cases {
		r, err := b.row(c.what, c.source, c.env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *bench) row(what, source string, env []string) (figure.Row, error) {
	var totals, opens, finds, loads []float64
	for i := range b.samples {
		t, err := b.process(strings.ReplaceAll(strings.Join(env, "\n"), "*", fmt.Sprint(i)))
		if err != nil {
			return figure.Row{}, err
		}
		// Some operations share code, which the first one has put into the cache.
		if n := t.Sources[source]; n < kernels*9/10 || source == "bundle" && len(t.Sources) != 1 {
			return figure.Row{}, fmt.Errorf("%d kernels came from %v, want %s", t.Kernels, t.Sources, source)
		}
		totals, opens = append(totals, t.Total), append(opens, t.Open)
		finds, loads = append(finds, t.Find), append(loads, t.Load)
	}
	middle := func(list []float64) float64 { return figure.Quantile(list, 0.5) }
	note := fmt.Sprintf("code found in %.1f, loaded in %.1f; opening the device %.0f, not counted", middle(finds), middle(loads), middle(opens))
	return figure.Of("firstop", fmt.Sprintf("%d kernels, %s", kernels, what), "kiln", "ms", note, totals), nil
}

// process runs a child; lines of env are settings.
func (b *bench) process(env ...string) (*times, error) {
	cmd := exec.Command(b.self, "-child", "-device", b.device)
	// The driver's own cache would hide its compiler.
	cmd.Env = append(append(os.Environ(), "CUDA_CACHE_DISABLE=1"), strings.Split(strings.Join(env, "\n"), "\n")...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var t times
	return &t, json.Unmarshal(out, &t)
}
