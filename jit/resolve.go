package jit

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/detour"
	"github.com/gokiln/kiln/runtime"
)

// ErrNotPrebuilt is what a launch returns in readonly mode for a kernel that is
// not in the cache.
var ErrNotPrebuilt = errors.New("kernel is not prebuilt")

// Event tells how one kernel was resolved.
type Event struct {
	Kernel  string
	Target  string
	Source  string // "compiled" or "cache"
	Checked bool   // the code is
	Front   time.Duration
	Emit    time.Duration
	Link    time.Duration
	Load    time.Duration
	Total   time.Duration
}

// image is a kernel ready to be loaded on one kind of device.
type image struct {
	meta compiler.Meta
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
	req  front.Request
	name string
	dev  finalizer
	tgt  target.Target
	load front.Loader
	ev   Event

	way       *detour.Way // nil for the usual one
	checked   bool
	assume    compiler.Assume
	positions []ir.Pos
	program   *compiler.Program
}

// sourceMeta describes a source entry; its body is the position table.
type sourceMeta struct {
	IR string `json:"ir"` // hash
}

func (r *resolver) resolve() (*image, error) {
	irHash, err := r.source()
	if err != nil {
		return nil, err
	}
	if r.way != nil {
		return r.detour()
	}
	artKey := cache.NewKey("artifact", compiler.Version, irHash, r.tgt.String(), r.opts().Key())
	finalKey := r.dev.FinalKey()
	machineKey := cache.NewKey("machine", artKey.String(), finalKey)
	if finalKey != "" {
		if im := r.cached(machineKey, cache.KindMachine); im != nil {
			return im, nil
		}
	}
	im := r.cached(artKey, cache.KindArtifact)
	if im == nil {
		if im, err = r.compile(artKey); err != nil {
			return nil, err
		}
	}
	if finalKey == "" {
		return im, nil
	}
	return r.link(machineKey, im)
}

// source returns the hash of the kernel's IR, from the cache where the source
// is unchanged.
func (r *resolver) source() (string, error) {
	start := time.Now()
	defer func() { r.ev.Front = time.Since(start) }()
	sum, err := sourceHash(r.req, r.load)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.name, err)
	}
	key := cache.NewKey("source", compiler.Version, dslHash(), string(sum[:]), r.req.Pkg, r.req.Func, r.req.Sig, specialisation(r.req))
	if e := r.get(key); e != nil {
		var m sourceMeta
		err := errors.Join(json.Unmarshal(e.Meta, &m), json.Unmarshal(e.Body, &r.positions))
		if err == nil && e.Kind == cache.KindSource && m.IR != "" {
			return m.IR, nil
		}
		r.debug("source entry unreadable", "kernel", r.name, "key", key, "err", err)
	}
	if r.mode == ReadOnly {
		return "", r.missing(key)
	}
	if err := r.front(); err != nil {
		return "", err
	}
	return r.program.Hash, r.keepSource(key)
}

func (r *resolver) keepSource(key cache.Key) error {
	meta, err := json.Marshal(sourceMeta{r.program.Hash})
	if err != nil {
		return fmt.Errorf("%s: writing source entry: %w", r.name, err)
	}
	body, err := json.Marshal(r.positions)
	if err != nil {
		return fmt.Errorf("%s: writing source entry: %w", r.name, err)
	}
	r.put(key, &cache.Entry{Header: cache.Header{Kind: cache.KindSource, Kernel: r.program.Kernel, Tool: tool, Meta: meta}, Body: body})
	return nil
}

// dslHash covers the functions of package dsl that kernels call: they are
// compiled from their source like the kernel itself.
var dslHash = sync.OnceValue(func() string {
	h := sha256.New()
	p, err := compiler.ReadPackage(dslPath, dsl.API())
	if err != nil {
		return err.Error() // the front end will fail on the same error
	}
	for _, f := range p.Files {
		fmt.Fprintf(h, "%s %d\n%s", f.Name, len(f.Text), f.Text)
	}
	return string(h.Sum(nil))
})

const tool = "kiln " + compiler.Version

func (r *resolver) front() error {
	p, err := compiler.Front(r.req, r.load)
	if err != nil {
		return err
	}
	r.program, r.positions = p, p.Positions
	return nil
}

func (r *resolver) missing(key cache.Key) error {
	return fmt.Errorf("%w: %s for %s: looked in %s for %s; run the program once with KILN_JIT=auto on a machine of this kind", ErrNotPrebuilt, r.name, r.tgt, r.store.Dir(), key)
}

// cached loads an entry that holds code.
func (r *resolver) cached(key cache.Key, kind string) *image {
	e := r.get(key)
	if e == nil || e.Kind != kind {
		return nil
	}
	a := compiler.Artifact{Code: e.Body}
	if err := json.Unmarshal(e.Meta, &a.Meta); err != nil {
		r.debug("entry unreadable", "kernel", r.name, "key", key, "err", err)
		return nil
	}
	r.ev.Source = "cache"
	return r.image(&a)
}

func (r *resolver) compile(key cache.Key) (*image, error) {
	if r.mode == ReadOnly {
		return nil, r.missing(key)
	}
	art, err := r.emit((*compiler.Program).Emit)
	if err != nil {
		return nil, err
	}
	return r.image(art), r.keep(key, cache.KindArtifact, art)
}

// emit makes code by a function.
func (r *resolver) emit(by func(*compiler.Program, target.Target, compiler.Options) (*compiler.Artifact, error)) (*compiler.Artifact, error) {
	start := time.Now()
	if r.program == nil { // the source was known, the target is new
		if err := r.front(); err != nil {
			return nil, err
		}
	}
	art, err := by(r.program, r.tgt, r.opts())
	r.ev.Emit, r.ev.Source = time.Since(start), "compiled"
	return art, err
}

// detour makes code by another way than the usual. It is not kept: what it depends on
// is in no key.
func (r *resolver) detour() (*image, error) {
	art, err := r.emit(r.way.Emit)
	if err != nil {
		return nil, err
	}
	return r.image(art), nil
}

func (r *resolver) keep(key cache.Key, kind string, art *compiler.Artifact) error {
	meta, err := json.Marshal(art.Meta)
	if err != nil {
		return fmt.Errorf("%s: writing %s entry: %w", r.name, kind, err)
	}
	r.put(key, &cache.Entry{
		Header: cache.Header{Kind: kind, Kernel: art.Kernel, Target: art.Target, Format: art.Format, Build: r.opts().Build(), Tool: tool, Meta: meta},
		Body:   art.Code,
	})
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
	r.ev.Link = time.Since(start)
	r.debug("linked", "kernel", r.name, "ms", millis(r.ev.Link), "log", log)
	art := &compiler.Artifact{Meta: im.meta, Code: final.Code}
	art.Format = final.Format
	return r.image(art), r.keep(key, cache.KindMachine, art)
}

func (r *resolver) image(a *compiler.Artifact) *image {
	if a.Interpreted != "" {
		r.log.Info("interpreted", "kernel", a.Kernel, "target", a.Target, "err", a.Interpreted)
	}
	return &image{a.Meta, runtime.Image{Format: a.Format, Name: a.Entry, Code: a.WithPositions(r.positions)}}
}

// placed returns a log whose sites know their files and lines.
func (r *resolver) placed(l *runtime.Log) *runtime.Log {
	out := *l
	out.Sites = slices.Clone(l.Sites)
	for i := range out.Sites {
		s := &out.Sites[i]
		if s.Pos > 0 && s.Pos <= len(r.positions) && r.positions[s.Pos-1].File != "" {
			s.Place = fmt.Sprintf("%s:%d", r.positions[s.Pos-1].File, r.positions[s.Pos-1].Line)
		}
	}
	return &out
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
