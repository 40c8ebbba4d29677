package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/runtime"
)

// productTimes is what a process reports that multiplies two matrices, in ms.
type productTimes struct {
	Open                    float64 // driver and context
	Total                   float64 // until the first product is done
	Front, Emit, Link, Load float64 // of Total: Go to IR, IR to the device's text, the driver's compiler, loading
	Again                   float64 // the second product
	Sources                 map[string]int
}

// multiply opens the device and multiplies matrices of BF16 with n rows and columns twice.
func multiply(device string, n int) (*productTimes, error) {
	t := &productTimes{Sources: map[string]int{}}
	defer jit.OnResolve(func(e jit.Event) {
		t.Sources[e.Source]++
		t.Front += e.Front.Seconds() * 1000
		t.Emit += e.Emit.Seconds() * 1000
		t.Link += e.Link.Seconds() * 1000
		t.Load += e.Load.Seconds() * 1000
	})()
	begin := time.Now()
	dev, err := runtime.Open(device)
	if err != nil {
		return nil, err
	}
	s := dev.DefaultStream()
	var views [3]ops.View
	for i := range views {
		mem, err := runtime.Alloc[byte](dev, 2*n*n)
		if err == nil {
			err = mem.Zero()
		}
		if err != nil {
			return nil, err
		}
		views[i] = ops.View{Buf: mem.Buffer(), DType: dtype.BF16, Layout: layout.Contiguous(layout.Shape{n, n})}
	}
	if err := dev.Sync(); err != nil {
		return nil, err
	}
	t.Open = ms(begin)
	for _, to := range []*float64{&t.Total, &t.Again} {
		begin = time.Now()
		err := matmul.Matmul(s, views[0], views[1], views[2])
		if err == nil {
			err = s.Sync()
		}
		if err != nil {
			return nil, err
		}
		*to = ms(begin)
	}
	return t, nil
}

// productSizes are the rows and columns of the matrices of which the first product is measured.
func productSizes(text string) (sizes []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-product %s: not sizes such as 256,4096", text)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// products measures the first product of each size: without a cache, with the one that such a process
// left, and with each bundle.
func (b *bench) products(sizes []int, bundles []string) (rows []figure.Row, err error) {
	dir, err := os.MkdirTemp("", "kiln-firstop-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, n := range sizes {
		b.args = []string{"-product", strconv.Itoa(n)}
		warm := filepath.Join(dir, fmt.Sprint("warm-", n))
		cases, err := firstCases(dir, warm, fmt.Sprint("cold-", n, "-*"), bundles)
		if err != nil {
			return nil, err
		}
		var unused productTimes
		if err := b.process(&unused, "KILN_CACHE_DIR="+warm); err != nil {
			return nil, err
		}
		for _, c := range cases {
			r, err := b.productRow(n, c)
			if err != nil {
				return nil, fmt.Errorf("product of %d³, %s: %w", n, c.what, err)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// productRow measures a case of a size.
func (b *bench) productRow(n int, c firstCase) (figure.Row, error) {
	var parts [7][]float64
	var totals []float64
	kernels := 0
	for i := range b.samples {
		var t productTimes
		if err := b.process(&t, c.settings(i)); err != nil {
			return figure.Row{}, err
		}
		if t.Sources[c.source] == 0 || len(t.Sources) != 1 {
			return figure.Row{}, fmt.Errorf("kernels came from %v, want %s", t.Sources, c.source)
		}
		totals, kernels = append(totals, t.Total), t.Sources[c.source]
		rest := t.Total - t.Front - t.Emit - t.Link - t.Load
		for k, x := range []float64{t.Front, t.Emit, t.Link, t.Load, rest, t.Again, t.Open} {
			parts[k] = append(parts[k], x)
		}
	}
	at := func(k int) float64 { return figure.Quantile(parts[k], 0.5) }
	rest := "" // kernels that are compiled beside each other take more than the time that passes
	if at(4) >= 0 {
		rest = fmt.Sprintf("the rest with the launch %.1f; ", at(4))
	}
	note := fmt.Sprintf("of %d kernels: Go to IR %.1f, to the device's text %.1f, driver's compiler %.1f, load %.1f; %sthe second product %.2f; opening the device %.0f, not counted",
		kernels, at(0), at(1), at(2), at(3), rest, at(5), at(6))
	return figure.Of("firstop", fmt.Sprintf("first bf16 product of %d³, %s", n, c.what), "kiln", "ms", note, totals), nil
}
