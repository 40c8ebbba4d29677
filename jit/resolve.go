package jit

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/runtime"
)

// ErrNotPrebuilt is what a launch returns for a kernel that is neither in a bundle nor in
// the cache, in readonly mode or in a program that has no compiler.
var ErrNotPrebuilt = errors.New("kernel is not prebuilt")

// ErrUnsupported is what a launch returns for a kernel that needs something which the device
// lacks, such as 64-bit floats on Metal.
var ErrUnsupported = target.ErrUnsupported

// Event reports how one kernel was resolved.
type Event struct {
	Kernel  string
	Target  string
	Source  string // "compiled", "cache" or "bundle"
	Checked bool   // the code is
	Front   time.Duration
	Emit    time.Duration
	Link    time.Duration
	Load    time.Duration
	Total   time.Duration
}

// image is a kernel ready to be loaded on one kind of device.
type image struct {
	meta code.Meta
	img  runtime.Image
}

// finalizer is the part of a device that turns an image into machine code.
type finalizer interface {
	FinalKey() string
	Finalize(runtime.Image) (runtime.Image, string, error)
}

// resolver finds the image of one kernel for one device.
type resolver struct {
	*settings
	req  input.Request
	spec string // artifact.Specialisation of req
	name string
	dev  finalizer
	tgt  target.Target
	load input.Loader
	ev   Event

	loader string            // names load
	known  *artifact.Sources // nil to look at the source every time

	way       *way // nil for the usual one
	checked   bool
	assume    code.Assume
	program   *program
	table     artifact.Table // of the source entry that was found, until it is read
	positions []ir.Pos       // see places

	shippedMachine bool // what resolve found is machine code of a bundle
	noMachine      bool // the device does not load such code
}

// known is the source of this program's packages.
var known artifact.Sources

func (r *resolver) resolve() (*image, error) {
	hash, err := r.source()
	if err != nil {
		return nil, err
	}
	if r.way != nil {
		return r.detour()
	}
	key := artifact.CodeKey(hash, r.tgt, r.opts())
	im, found := r.prebuilt(hash)
	switch {
	case im == nil:
		if im, err = r.compile(key); err != nil {
			return nil, err
		}
	case found.kind == cache.KindMachine:
		r.shippedMachine = !found.local
		return im, nil
	default:
		key = found.key
	}
	final := r.dev.FinalKey()
	if final == "" {
		return im, nil
	}
	return r.link(artifact.MachineKey(key, final), im)
}

// source returns the hash of the kernel's IR, from where the source is known.
func (r *resolver) source() (string, error) {
	start := time.Now()
	defer func() { r.ev.Front = time.Since(start) }()
	key, err := r.known.Key(r.req, r.spec, r.load, r.loader)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.name, err)
	}
	e, _ := r.shipped(bundle.Common, key)
	if e == nil {
		e = r.get(key)
	}
	if e != nil {
		hash, table, err := artifact.ReadSource(e)
		if err == nil {
			r.table = table
			return hash, nil
		}
		r.debug("source entry unreadable", "kernel", r.name, "key", key, "err", err)
	}
	if err := r.front(); err != nil {
		return "", err
	}
	return r.program.Hash, r.keepSource(key)
}

func (r *resolver) keepSource(key cache.Key) error {
	s := artifact.Source{IR: r.program.Hash, Positions: r.positions}
	e, err := s.Entry(r.program.Kernel, record.Of(r.req).String())
	if err != nil {
		return err
	}
	r.put(key, e)
	return nil
}

// places are the positions of the kernel's instructions. They are read when something asks for
// them; without them the code is as good, and messages of the running kernel name no lines.
func (r *resolver) places() []ir.Pos {
	if r.table != nil {
		r.positions, r.table = r.settings.lines(r.name, r.table), nil
	}
	return r.positions
}

// lines reads the positions of a kernel; from a damaged table none.
func (s *settings) lines(kernel string, table artifact.Table) []ir.Pos {
	list, err := table.Positions()
	if err != nil {
		s.log.Warn("source entry without lines for messages", "kernel", kernel, "err", err)
	}
	return list
}

func (r *resolver) keep(key cache.Key, kind string, art *code.Artifact) error {
	e, err := artifact.Entry(kind, art, r.opts(), artifact.Tool)
	if err != nil {
		return err
	}
	r.put(key, e)
	return nil
}

// link has the driver turn the image into machine code and keeps that.
func (r *resolver) link(key cache.Key, im *image) (*image, error) {
	if r.mode == ReadOnly {
		return im, nil // the driver compiles as it loads
	}
	start := time.Now()
	final, log, err := r.dev.Finalize(im.img)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, r.explain(err))
	}
	if final.Format == im.img.Format {
		return im, nil // the driver compiles as it loads
	}
	r.ev.Link = time.Since(start)
	r.debug("linked", "kernel", r.name, "ms", millis(r.ev.Link), "log", log)
	art := &code.Artifact{Meta: im.meta, Code: final.Code}
	art.Format = final.Format
	return r.image(art), r.keep(key, cache.KindMachine, art)
}

func (r *resolver) image(a *code.Artifact) *image {
	if a.Interpreted != "" {
		r.log.Info("interpreted", "kernel", a.Kernel, "target", a.Target, "err", a.Interpreted)
	}
	img := runtime.Image{Format: a.Format, Name: a.Entry, Code: a.WithPositions(r.places), Shared: a.Dynamic, Dynamic: a.Length != nil, Overlaps: a.Overlaps}
	if a.Format == code.FormatX86 {
		img.Place = r.place()
	}
	return &image{a.Meta, img}
}

// place returns a function that says where positions are. Most kernels never fail, so it reads
// the table when it is called, and holds on to nothing else.
func (r *resolver) place() func(pos int) (file string, line, col int) {
	s, name, table, list := r.settings, r.name, slices.Clone(r.table), r.positions
	read := sync.OnceValue(func() []ir.Pos {
		if table != nil {
			return s.lines(name, table)
		}
		return list
	})
	return func(pos int) (string, int, int) {
		list := read()
		if pos < 1 || pos > len(list) {
			return "", 0, 0
		}
		return list[pos-1].File, list[pos-1].Line, list[pos-1].Col
	}
}

// placed returns a log whose sites know their files and lines.
func (r *resolver) placed(l *runtime.Log) *runtime.Log {
	out, places := *l, r.places()
	out.Sites = slices.Clone(l.Sites)
	for i := range out.Sites {
		s := &out.Sites[i]
		if s.Pos > 0 && s.Pos <= len(places) && places[s.Pos-1].File != "" {
			s.Place = fmt.Sprintf("%s:%d", places[s.Pos-1].File, places[s.Pos-1].Line)
		}
	}
	return &out
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
