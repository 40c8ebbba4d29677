package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "load:", err)
		}
		os.Exit(1)
	}
}

// config is what the flags say.
type config struct {
	device, file string
	size         int64 // bytes
	samples      int
	keep, json   bool
}

func run(args []string, stdout, stderr io.Writer) error {
	var c config
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.device, "device", "cpu", "device to load to")
	flags.StringVar(&c.file, "file", "", "the file to write and load, one in a temporary folder without it")
	size := flags.Int64("size", 4000, "size of the file, in MB of 10⁶ bytes")
	flags.IntVar(&c.samples, "samples", 5, "times that it is loaded")
	flags.BoolVar(&c.keep, "keep", false, "leave the file, and take the one that is there")
	flags.BoolVar(&c.json, "json", false, "print rows as lines of JSON, as gpubench does")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if c.size = *size * 1e6; *size <= 0 || c.samples <= 0 {
		return errors.New("-size and -samples are positive")
	}
	d, err := tensor.Open(c.device)
	if err != nil {
		return err
	}
	defer d.Close()
	rows, err := c.measure(d)
	print := figure.WriteList
	if c.json {
		print = figure.WriteJSON
	}
	return errors.Join(err, print(stdout, rows))
}

// measure makes the file and takes all figures.
func (c *config) measure(d *tensor.Device) ([]figure.Row, error) {
	list, largest := model(c.size)
	path, remove, err := c.prepare(list)
	if err != nil {
		return nil, err
	}
	defer remove()
	first, err := firstLoad(d, path, largest)
	if err != nil {
		return nil, err
	}
	sum := int64(0)
	for _, w := range list {
		sum += w.bytes()
	}
	loaded, err := c.rate("gguf to the device", sum, func() error { return load(d, path, func() error { return nil }) })
	if err != nil {
		return nil, err
	}
	loaded.Note = fmt.Sprintf("%.2f GB in %d tensors", float64(sum)/1e9, len(list))
	rows := []figure.Row{first, loaded}
	for _, other := range []func(*tensor.Device, string) (figure.Row, error){c.pinned, c.ordinary, c.readOnly} {
		r, err := other(d, path)
		if err != nil {
			return rows, err
		}
		if r.What == pinnedRow {
			rows[1].Note += fmt.Sprintf(", %.0f %% of page-locked copies", 100*loaded.Median/r.Median)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// prepare writes the file, unless it is there and to be kept.
func (c *config) prepare(list []weight) (path string, remove func(), err error) {
	path, remove = c.file, func() {}
	if path == "" {
		dir, err := os.MkdirTemp("", "kiln-load-")
		if err != nil {
			return "", nil, err
		}
		path, remove = filepath.Join(dir, "model.gguf"), func() { _ = os.RemoveAll(dir) }
	} else if !c.keep {
		remove = func() { _ = os.Remove(path) }
	}
	if _, err := os.Stat(path); err == nil && c.keep {
		return path, remove, nil
	}
	if err := write(path, list); err != nil {
		remove()
		return "", nil, err
	}
	debug.FreeOSMemory() // of the tensors that were written
	return path, remove, nil
}

// load brings all tensors of a file to the device, and calls a function while they are there.
func load(d *tensor.Device, path string, then func() error) error {
	f, err := gguf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var free []func() error
	for e := range f.All() {
		if e.Encoding().Quantized() {
			q := quantized.Load(d, e)
			err, free = q.Err(), append(free, q.Free)
		} else {
			t := tensor.Load(d, e)
			err, free = t.Err(), append(free, t.Free)
		}
		if err != nil {
			return err
		}
	}
	err = errors.Join(d.Synchronize(), then())
	for _, f := range free {
		err = errors.Join(err, f())
	}
	return err
}

// firstLoad is how much memory of the host the first load takes, as a multiple of the largest tensor.
func firstLoad(d *tensor.Device, path string, largest int64) (figure.Row, error) {
	if err := tensor.Zeros(d, tensor.F32, 1).Free(); err != nil { // the device has been used
		return figure.Row{}, err
	}
	m, err := watch()
	if err != nil {
		return figure.Row{}, err
	}
	most := int64(0)
	begin := time.Now()
	err = load(d, path, func() error {
		if most, err = m.most(); d.Kind() == "cpu" {
			most -= d.Stats().Bytes
		}
		return err
	})
	note := fmt.Sprintf("%.0f MB in the first load, of %v; the largest tensor has %.0f MB",
		float64(most)/1e6, time.Since(begin).Round(time.Millisecond), float64(largest)/1e6)
	return figure.Of("load", "memory of the host / largest tensor", "kiln", "", note, []float64{float64(most) / float64(largest)}), err
}

// rate times a function that moves so many bytes.
func (c *config) rate(what string, bytes int64, f func() error) (figure.Row, error) {
	var samples []float64
	for range c.samples {
		begin := time.Now()
		if err := f(); err != nil {
			return figure.Row{}, fmt.Errorf("%s: %w", what, err)
		}
		samples = append(samples, float64(bytes)/1e9/time.Since(begin).Seconds())
	}
	return figure.Of("load", what, "kiln", "GB/s", "", samples), nil
}
