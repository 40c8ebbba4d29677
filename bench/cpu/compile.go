package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gokiln/kiln/bench/cpu/kernels"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/runtime"
)

// constants are the compile-time parameters of the kernels that have some, as they
// are launched on a device with warps of that size.
func constants(warp int) map[string]map[string]int64 {
	cfg := tiling(warp)
	high, each, wide := int64(cfg.High), int64(cfg.Each), int64(cfg.Wide)
	return map[string]map[string]int64{
		"Transpose": {"pad": 0}, "PackA": {"height": high}, "PackB": {"width": wide * each},
		"SGEMM": {"cfg.High": high, "cfg.Each": each, "cfg.Wide": wide},
	}
}

// compiled are the kernels to compile, of each one instance.
var compiled = []any{
	kernels.HeatTiles, kernels.HeatLinear, kernels.IDCT, kernels.Matches, kernels.HashMatches, kernels.ScanBegin, kernels.LookBack, kernels.LabelInit, kernels.LabelMerge, kernels.LabelFlatten,
	kernels.Saxpy, kernels.Exp, kernels.Gelu, kernels.Tanh, kernels.Softmax, kernels.RMSNorm, kernels.Sum, kernels.Transpose, kernels.Histogram,
	kernels.Mandelbrot, kernels.NBody, kernels.Stencil, kernels.PackA, kernels.PackB, kernels.SGEMM,
}

// requests are the kernels to compile that the flags name, for warps of a size.
func requests(c config, warp int) (list []front.Request) {
	consts := constants(warp)
	for _, fn := range compiled {
		name := goruntime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
		dot := strings.LastIndexByte(name, '.')
		if short := name[dot+1:]; len(c.only) == 0 || slices.Contains(c.only, short) {
			list = append(list, front.Request{Pkg: name[:dot], Func: short, Consts: consts[short]})
		}
	}
	return list
}

// list prints code for people to read.
func list(w io.Writer, c config) error {
	dev, err := runtime.Open(c.device())
	if err != nil {
		return fmt.Errorf("opening %s: %w", c.device(), err)
	}
	defer dev.Close()
	tgt, err := compiler.TargetFor(dev.Info().Formats, dev.Info().Arch)
	if err != nil {
		return err
	}
	for _, req := range requests(c, dev.Info().WarpSize) {
		p, err := compiler.Front(req, compiler.Registered)
		if err != nil {
			return err
		}
		text, _, err := p.Listing(tgt, compiler.Options{Assume: compiler.Assumes(tgt)})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "# %s\n%s\n", req.Func, text)
	}
	return nil
}

// compileTimes prints how long kernels take from source to code for the device:
// the least times of the front end, which keeps what it has checked of a package, and
// of passes and emitter, the time of the first attempt, and the code's size.
func compileTimes(w io.Writer, dev *runtime.Device, c config) error {
	info := dev.Info()
	tgt, err := compiler.TargetFor(info.Formats, info.Arch)
	if err != nil {
		return err
	}
	var errs []error
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\ncompiling for %s, ms\tfront end\tpasses and code\ttogether\tthe first time\tbytes\tformat\n", tgt)
	for _, req := range requests(c, info.WarpSize) {
		var begins, ends []time.Duration
		size := 0
		format := ""
		for range 7 {
			start := time.Now()
			p, err := compiler.Front(req, compiler.Registered)
			if err != nil {
				return err
			}
			middle := time.Now()
			art, err := p.Emit(tgt, compiler.Options{Assume: compiler.Assumes(tgt)})
			if err != nil {
				errs = append(errs, err)
				break
			}
			begins, ends = append(begins, middle.Sub(start)), append(ends, time.Since(middle))
			size, format = len(art.Code), art.Format
		}
		if len(ends) == 0 {
			continue
		}
		a, b := slices.Min(begins).Seconds()*1e3, slices.Min(ends).Seconds()*1e3
		first := (begins[0] + ends[0]).Seconds() * 1e3
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t%s\n", req.Func, a, b, a+b, first, size, format)
	}
	fmt.Fprintln(t)
	return errors.Join(append(errs, t.Flush())...)
}
