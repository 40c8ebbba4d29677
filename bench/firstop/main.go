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
	product := flags.String("product", "", "measure the first product of matrices of BF16 instead, with so many rows and columns, such as 256,4096")
	asJSON := flags.Bool("json", false, "print lines of JSON, as gpubench does")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var sizes []int
	if *product != "" {
		var err error
		if sizes, err = productSizes(*product); err != nil {
			return err
		}
	}
	if *child {
		return report(stdout, *device, sizes)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := bench{self: self, device: *device, samples: *samples}
	if *record != "" {
		return b.record(*record, *product)
	}
	list := strings.FieldsFunc(*bundles, func(r rune) bool { return r == ',' })
	var rows []figure.Row
	if len(sizes) > 0 {
		rows, err = b.products(sizes, list)
	} else {
		rows, err = b.rows(list)
	}
	if err != nil {
		return err
	}
	if *asJSON {
		return figure.WriteJSON(stdout, rows)
	}
	return figure.WriteList(stdout, rows)
}

// report is the measured process: it writes what it took.
func report(w io.Writer, device string, sizes []int) error {
	var t any
	var err error
	if len(sizes) > 0 {
		for _, n := range sizes {
			if t, err = multiply(device, n); err != nil {
				return err
			}
		}
	} else {
		t, err = use(device)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(t)
}

// record writes what a process uses to a file.
func (b *bench) record(file, product string) error {
	if product == "" {
		return b.process(&times{}, "KILN_RECORD="+file, "KILN_JIT=off")
	}
	b.args = []string{"-product", product}
	return b.process(&productTimes{}, "KILN_RECORD="+file)
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
	args         []string // more, for the measured process
	samples      int
}

// firstCase is where processes find their kernels.
type firstCase struct {
	what, source string
	env          []string
}

// settings are the lines of the environment of process i.
func (c *firstCase) settings(i int) string {
	return strings.ReplaceAll(strings.Join(c.env, "\n"), "*", fmt.Sprint(i))
}

// firstCases are an empty cache, for process i that of a name with i for *, a full one, and each bundle
// with an empty cache that must stay so.
func firstCases(dir, warm, cold string, bundles []string) ([]firstCase, error) {
	cases := []firstCase{
		{"cold: compiled", "compiled", []string{"KILN_CACHE_DIR=" + filepath.Join(dir, cold)}},
		{"warm: cached", "cache", []string{"KILN_CACHE_DIR=" + warm}},
	}
	for _, name := range bundles {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		env := []string{"KILN_CACHE_DIR=" + filepath.Join(dir, "none"), "KILN_JIT=readonly", "KILN_BUNDLES=" + abs}
		cases = append(cases, firstCase{"bundle " + filepath.Base(name), "bundle", env})
	}
	return cases, nil
}

// rows measures the cases.
func (b *bench) rows(bundles []string) ([]figure.Row, error) {
	dir, err := os.MkdirTemp("", "kiln-firstop-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	warm := filepath.Join(dir, "warm")
	cases, err := firstCases(dir, warm, "cold-*", bundles)
	if err != nil {
		return nil, err
	}
	if err := b.process(&times{}, "KILN_CACHE_DIR="+warm); err != nil {
		return nil, err
	}
	var rows []figure.Row
	for _, c := range cases {
		r, err := b.row(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *bench) row(c firstCase) (figure.Row, error) {
	var totals, opens, finds, loads []float64
	for i := range b.samples {
		var t times
		if err := b.process(&t, c.settings(i)); err != nil {
			return figure.Row{}, err
		}
		// Some operations share code, which the first one has put into the cache.
		if n := t.Sources[c.source]; n < kernels*9/10 || c.source == "bundle" && len(t.Sources) != 1 {
			return figure.Row{}, fmt.Errorf("%d kernels came from %v, want %s", t.Kernels, t.Sources, c.source)
		}
		totals, opens = append(totals, t.Total), append(opens, t.Open)
		finds, loads = append(finds, t.Find), append(loads, t.Load)
	}
	middle := func(list []float64) float64 { return figure.Quantile(list, 0.5) }
	note := fmt.Sprintf("code found in %.1f, loaded in %.1f; opening the device %.0f, not counted", middle(finds), middle(loads), middle(opens))
	return figure.Of("firstop", fmt.Sprintf("%d kernels, %s", kernels, c.what), "kiln", "ms", note, totals), nil
}

// process runs a child, which reports t; lines of env are settings.
func (b *bench) process(t any, env ...string) error {
	cmd := exec.Command(b.self, append([]string{"-child", "-device", b.device}, b.args...)...)
	// The driver's own cache would hide its compiler.
	cmd.Env = append(append(os.Environ(), "CUDA_CACHE_DISABLE=1"), strings.Split(strings.Join(env, "\n"), "\n")...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return json.Unmarshal(out, t)
}
