package main

import (
	"errors"
	"fmt"
	"image"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gokiln/kiln/examples/edges/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// The kernels, as handles: each is compiled for a device when first used there.
var (
	luma      = jit.Of(kernels.Luma)
	lumaYCbCr = jit.Of(kernels.LumaYCbCr)
	blurRows  = jit.Of(kernels.BlurRows)
	blurCols  = jit.Of(kernels.BlurCols)
	sobel     = jit.Of(kernels.Sobel)
	histogram = jit.Of(kernels.Histogram)
	suppress  = jit.Of(kernels.Suppress)

	allKernels = []*jit.Kernel{luma, lumaYCbCr, blurRows, blurCols, sobel, histogram, suppress}
)

// Detect finds the edges of a picture on a device. The picture is blurred with
// a Gaussian of standard deviation sigma, in pixels, first; 0 leaves it sharp.
// In the result an edge is at least half bright, the brighter the stronger, and
// all else is black. The result is the same, bit for bit, on every device.
func Detect(dev *runtime.Device, img image.Image, sigma float64) (*image.Gray, *Report, error) {
	return prepare(dev).detect(img, sigma)
}

// detect is Detect on the device that kernels are prepared for.
func (k *preparation) detect(img image.Image, sigma float64) (*image.Gray, *Report, error) {
	defer func() { <-k.done }() // whatever happens: the device may be closed then
	dev := k.dev
	size := img.Bounds().Size()
	if size.X <= 0 || size.Y <= 0 {
		return nil, nil, fmt.Errorf("detect edges: the picture is empty (%d×%d)", size.X, size.Y)
	}
	weights, err := gaussian(sigma)
	if err != nil {
		return nil, nil, fmt.Errorf("detect edges: %w", err)
	}
	p := &pipeline{dev: dev, w: size.X, h: size.Y, report: newReport(dev, size, sigma, len(weights)-1)}
	p.kernels(k)
	out := p.run(img, weights)
	p.release()
	if p.err != nil {
		return nil, nil, fmt.Errorf("detect edges on %s: %w", dev.Name(), p.err)
	}
	p.report.finish(out)
	return out, p.report, nil
}

// pipeline runs steps one after the other until one fails. Each step waits for
// the device, so that it can be timed; a program in a hurry would not.
type pipeline struct {
	dev    *runtime.Device
	w, h   int
	report *Report
	err    error
	free   []func() error
}

// run is the pipeline proper: what happens, in order.
func (p *pipeline) run(img image.Image, weights []float32) *image.Gray {
	var in pixels
	p.step("pack", func() error { in = pack(img); return nil })

	n := p.w * p.h
	taps := alloc[float32](p, len(weights))
	a, b := alloc[float32](p, n), alloc[float32](p, n) // kernels read one and write the other
	direction := alloc[uint8](p, n)
	out := image.NewGray(image.Rect(0, 0, p.w, p.h))
	edges := held(p, runtime.LendResult[uint8], out.Pix)
	bins := alloc[uint32](p, kernels.Bins)

	p.brightness(a, in, func() error { return errors.Join(taps.CopyFrom(weights), bins.Zero()) })
	p.launch("blur rows", blurRows, p.rows(), b, a, taps, p.w, p.h)
	p.launch("blur columns", blurCols, p.plane(), a, b, taps, p.w, p.h)
	p.launch("sobel", sobel, p.plane(), b, direction, a, p.w, p.h)
	p.launch("histogram", histogram, p.few(n), bins, b)
	p.step("threshold", func() error {
		counts, err := bins.Host()
		p.report.Threshold = threshold(counts)
		return err
	})
	t := p.report.Threshold
	p.launch("suppress", suppress, p.plane(), edges, b, direction, p.w, p.h, t, 128/t)

	p.step("download", func() error { return edges.CopyTo(out.Pix) })
	return out
}

// brightness sends pixels to the device, with whatever else is to be sent, and makes
// their brightness of them.
func (p *pipeline) brightness(luminance runtime.Slice[float32], in pixels, also func() error) {
	if c := in.ycc; c != nil {
		var y, cb, cr runtime.Slice[uint8]
		p.step("upload", func() error {
			y, cb, cr = held(p, runtime.Lend[uint8], c.Y), held(p, runtime.Lend[uint8], c.Cb), held(p, runtime.Lend[uint8], c.Cr)
			return errors.Join(p.err, also())
		})
		p.launch("luma", lumaYCbCr, p.plane(), luminance, y, cb, cr, p.w, p.h, c.YStride, c.CStride, in.firstX, in.firstY, in.shiftX, in.shiftY)
		return
	}
	var colour runtime.Slice[uint32] // four of the bytes each, the first one lowest
	p.step("upload", func() (err error) {
		colour, err = runtime.View[uint32](held(p, runtime.Lend[uint8], in.rgba).Buffer())
		return errors.Join(err, p.err, also())
	})
	p.launch("luma", luma, p.plane(), luminance, colour, p.w, p.h)
}

// preparation has all kernels compiled for a device, or loaded, at the same time.
type preparation struct {
	dev    *runtime.Device
	done   chan struct{}
	events map[string]jit.Event // by kernel: where its code came from
	err    error
}

// prepare begins to prepare the kernels. A program can do something else meanwhile,
// such as reading the picture.
func prepare(dev *runtime.Device) *preparation {
	k := &preparation{dev: dev, done: make(chan struct{}), events: map[string]jit.Event{}}
	var mu sync.Mutex
	stop := jit.OnResolve(func(e jit.Event) {
		mu.Lock()
		defer mu.Unlock()
		k.events[e.Kernel] = e
	})
	go func() {
		defer close(k.done)
		defer stop()
		var g errgroup.Group
		for _, kernel := range allKernels {
			g.Go(func() error { return kernel.Prepare(dev) })
		}
		k.err = g.Wait()
	}()
	return k
}

// kernels waits for the kernels and notes where their code came from.
func (p *pipeline) kernels(k *preparation) {
	p.step("kernels", func() error {
		<-k.done
		return k.err
	})
	for _, kernel := range allKernels {
		p.report.addKernel(kernel.Name(), k.events[kernel.Name()])
	}
}

// step runs fn, waits for the device, and notes the time of both.
func (p *pipeline) step(name string, fn func() error) {
	if p.err != nil {
		return
	}
	start := time.Now()
	if p.err = fn(); p.err == nil {
		p.err = p.dev.DefaultStream().Sync()
	}
	if p.err != nil {
		p.err = fmt.Errorf("%s: %w", name, p.err)
	}
	p.report.addStep(name, time.Since(start))
}

// launch runs a kernel and notes the time that the device took for it.
func (p *pipeline) launch(name string, k *jit.Kernel, g runtime.Grid, args ...any) {
	if p.err != nil {
		return
	}
	elapsed, err := timed(p.dev, func(s *runtime.Stream) error { return k.Launch(s, g, args...) })
	if err != nil {
		p.err = fmt.Errorf("%s: %w", name, err)
		return
	}
	p.report.addStep(name, elapsed)
}

// timed measures what fn puts into the stream, by the device's clock.
func timed(dev *runtime.Device, fn func(*runtime.Stream) error) (time.Duration, error) {
	start, err := dev.NewEvent()
	if err != nil {
		return 0, err
	}
	end, err := dev.NewEvent()
	if err != nil {
		return 0, err
	}
	s := dev.DefaultStream()
	if err := s.Record(start); err != nil {
		return 0, err
	}
	if err := fn(s); err != nil {
		return 0, err
	}
	if err := s.Record(end); err != nil {
		return 0, err
	}
	if err := s.Sync(); err != nil {
		return 0, err
	}
	return end.Elapsed(start)
}

// alloc allocates device memory until the end of the pipeline.
func alloc[T any](p *pipeline, n int) runtime.Slice[T] { return held(p, runtime.Alloc[T], n) }

// held is the memory that get makes of something, until the end of the pipeline.
func held[T, Of any](p *pipeline, get func(*runtime.Device, Of) (runtime.Slice[T], error), of Of) runtime.Slice[T] {
	if p.err != nil {
		return runtime.Slice[T]{}
	}
	s, err := get(p.dev, of)
	if err != nil {
		p.err = err
		return s
	}
	p.free = append(p.free, s.Free)
	return s
}

// release frees what alloc allocated.
func (p *pipeline) release() {
	for _, free := range p.free {
		if err := free(); p.err == nil {
			p.err = err
		}
	}
}

// block is how many threads the blocks have: as many as a processor runs at once, which
// on a CPU are those of one vector, but no more than serve a GPU well.
func (p *pipeline) block() int { return min(p.dev.Info().ThreadsPerUnit, 256) }

// rows is the grid of BlurRows: a block for each piece of a row.
func (p *pipeline) rows() runtime.Grid {
	g := p.grid(p.block(), 1, p.h)
	g.Blocks.X = (p.w + kernels.RowPiece - 1) / kernels.RowPiece
	return g
}

// plane is the grid of kernels that look at each pixel by itself. Where a row of blocks
// each keeps the device busy threads go along the rows, on a CPU vector by vector.
func (p *pipeline) plane() runtime.Grid {
	x := min(p.dev.WarpSize(), 32)
	y := 256 / x
	g, info := p.grid(x, y, (p.h+y-1)/y), p.dev.Info()
	row := g.Blocks.Y * g.Threads.Count() // threads, for one block along x
	g.Blocks.X = min(g.Blocks.X, 1+8*info.Units*info.ThreadsPerUnit/row)
	return g
}

// grid has blocks of x by y threads that cover the width. Devices allow fewer
// blocks along y than along x, and the kernels stride over what is left.
func (p *pipeline) grid(x, y, blocksY int) runtime.Grid {
	blocksY = min(blocksY, p.dev.Info().MaxGrid[1])
	return runtime.Grid{
		Blocks:  runtime.Dim3{X: (p.w + x - 1) / x, Y: blocksY},
		Threads: runtime.Dim3{X: x, Y: y},
	}
}

// few is a grid that keeps the device busy with no more blocks than that takes:
// each block of Histogram pays for its own table.
func (p *pipeline) few(n int) runtime.Grid {
	g := runtime.Cover(n, p.block())
	g.Blocks.X = min(g.Blocks.X, 8*max(1, p.dev.Info().Units))
	return g
}
