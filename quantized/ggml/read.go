package ggml

import (
	"errors"
	"math"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/internal/scan"
	"github.com/gokiln/kiln/tensor/file"
)

const (
	maxRank   = 4
	alignment = 32 // of elements in ggjt
)

// magics are the first numbers of files, and which versions there are; 0 is no version.
var magics = map[uint32]struct {
	name     string
	versions uint32
}{
	0x67676d6c: {"ggml", 0},
	0x67676d66: {"ggmf", 1},
	0x67676a74: {"ggjt", 3},
}

// File is a model.
type File struct {
	*file.Set        // the tensors
	Magic     string // ggml, ggmf or ggjt
	Version   int    // 0 for ggml
	Params    Params
	Vocab     []Token
}

// Params is the numbers that describe a model.
type Params struct {
	Vocab  uint32 // tokens
	Embed  uint32 // width of the residual stream
	Mult   uint32 // the width of feed-forward layers is a multiple of it
	Heads  uint32 // of attention
	Layers uint32
	Rot    uint32 // dimensions of a head that are rotated
	FType  uint32 // of which type most tensors are, as llama.cpp numbers it
}

// Token is a token of the vocabulary.
type Token struct {
	Text  string
	Score float32 // 0 in ggml
}

// Open opens a file, which is mapped into memory if the system can.
func Open(path string) (*File, error) {
	src, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := Read(src)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return f, nil
}

// Read is [Open] of a file.Source. The result closes the source; an error does not.
func Read(src *file.Source) (*File, error) {
	r := &reader{Reader: scan.New(src), src: src, f: &File{Set: file.NewSet(src)}}
	r.head()
	r.vocab()
	for r.Err() == nil && r.Left() > 0 {
		r.tensor()
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.f, nil
}

type reader struct {
	*scan.Reader
	src *file.Source
	f   *File
}

func (r *reader) head() {
	m, ok := magics[r.Uint32("magic number")]
	if r.Err() == nil && !ok {
		r.Fail(0, file.ErrFormat, "the file begins as none of ggml, ggmf and ggjt does")
	}
	r.f.Magic = m.name
	if m.versions > 0 {
		at := r.Pos()
		v := r.Uint32("version")
		if r.Err() == nil && (v < 1 || v > m.versions) {
			r.Fail(at, file.ErrUnsupported, "version %d of %s, want 1 to %d", v, m.name, m.versions)
		}
		r.f.Version = int(v)
	}
	p := &r.f.Params
	for _, n := range []*uint32{&p.Vocab, &p.Embed, &p.Mult, &p.Heads, &p.Layers, &p.Rot, &p.FType} {
		*n = r.Uint32("parameters of the model")
	}
}

func (r *reader) vocab() {
	each := uint64(4)
	if r.f.Version > 0 {
		each = 8
	}
	if !r.Fits(r.Pos(), uint64(r.f.Params.Vocab), each, "tokens") {
		return
	}
	for range r.f.Params.Vocab {
		t := Token{Text: r.text("token")}
		if r.f.Version > 0 {
			t.Score = math.Float32frombits(r.Uint32("score of a token"))
		}
		if r.Err() != nil {
			return
		}
		r.f.Vocab = append(r.f.Vocab, t)
	}
}

// text reads the length of a string and the string.
func (r *reader) text(what string) string {
	return string(r.Take(int64(r.Uint32("length of a "+what)), what))
}

// tensor reads a tensor and goes to the one behind it.
func (r *reader) tensor() {
	at := r.Pos()
	rank, length := r.Uint32("number of dimensions"), r.Uint32("length of a name")
	typ := r.Uint32("type")
	if r.Err() != nil {
		return
	}
	if rank < 1 || rank > maxRank {
		r.Fail(at, file.ErrFormat, "a tensor of %d dimensions, want 1 to %d", rank, maxRank)
		return
	}
	shape := make(layout.Shape, rank)
	for i := range shape {
		n := r.Uint32("size of a dimension")
		if uint64(n) > math.MaxInt {
			r.Fail(at, file.ErrFormat, "a dimension of %d", n)
		}
		shape[len(shape)-1-i] = int(n)
	}
	name := string(r.Take(int64(length), "name of a tensor"))
	if r.f.Magic == "ggjt" {
		r.Skip((r.Pos() + alignment - 1) &^ (alignment - 1))
	}
	if r.Err() == nil {
		r.Set(located(at, name, r.add(name, shape, typ)))
	}
}

// add adds the tensor whose elements come next.
func (r *reader) add(name string, shape layout.Shape, typ uint32) error {
	enc, err := r.f.encoding(typ)
	if err != nil {
		return file.Fault(r.src.Name(), 0, file.ErrUnsupported, "%v", err)
	}
	begin := min(r.Pos(), r.src.Size())
	blob, err := r.src.Section(begin, r.src.Size()-begin)
	if err != nil {
		return err
	}
	e, err := file.New(file.Spec{
		Name: name, Encoding: enc, Shape: shape, Blob: blob, Path: r.src.Name(), Offset: begin})
	if err != nil {
		return err
	}
	r.Skip(begin + e.Size())
	return r.f.Add(e)
}

// located says at which byte a tensor is described.
func located(at int64, name string, err error) error {
	var f *file.Error
	if !errors.As(err, &f) {
		return err
	}
	g := *f
	g.Offset, g.Tensor = at, name
	return &g
}

// before3 has the types whose blocks had other fields, or the same in another order, before version
// 3 of ggjt.
var before3 = map[uint32]file.Encoding{
	uint32(format.Q4_0): file.Blocks("Q4_0 before ggjt v3", 32, 20),
	uint32(format.Q4_1): file.Blocks("Q4_1 before ggjt v3", 32, 24),
	uint32(format.Q8_0): file.Blocks("Q8_0 before ggjt v3", 32, 36),
}

// before2 has those of before version 2.
var before2 = map[uint32]file.Encoding{
	4:                   file.Blocks("Q4_2 before ggjt v2", 16, 10),
	5:                   file.Blocks("Q4_3 before ggjt v2", 16, 12),
	uint32(format.Q5_0): file.Blocks("Q5_0 before ggjt v2", 32, 22),
	uint32(format.Q5_1): file.Blocks("Q5_1 before ggjt v2", 32, 24),
}

// encoding is how a type of the file is stored.
func (f *File) encoding(typ uint32) (file.Encoding, error) {
	version := 0
	if f.Magic == "ggjt" {
		version = f.Version
	}
	if e, ok := before2[typ]; ok && version < 2 {
		return e, nil
	}
	if e, ok := before3[typ]; ok && version < 3 {
		return e, nil
	}
	return gguf.Encoding(format.Type(typ))
}
