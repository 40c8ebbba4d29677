package artifact

import (
	"encoding/binary"
	"errors"

	"github.com/gokiln/kiln/compiler/ir"
)

// A process that uses hundreds of prebuilt kernels may read the positions of each, so they are
// kept in a form that is read fast: how many files there are and their names, then for each
// position its file, counted from 1, with line and column, or a zero for none. Numbers
// are uvarints.

var errPositions = errors.New("damaged positions")

func appendPositions(b []byte, list []ir.Pos) []byte {
	index, names := map[string]uint64{}, []string{}
	for _, p := range list {
		if _, ok := index[p.File]; !ok && p != (ir.Pos{}) {
			names = append(names, p.File)
			index[p.File] = uint64(len(names))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, p := range list {
		if p == (ir.Pos{}) {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, index[p.File])
		b = binary.AppendUvarint(b, uint64(p.Line))
		b = binary.AppendUvarint(b, uint64(p.Col))
	}
	return b
}

// Table is the positions of a source entry. Most kernels are loaded and run without a
// question where in the source something is.
type Table []byte

// Positions reads the table.
func (t Table) Positions() ([]ir.Pos, error) {
	r := reader{b: t}
	names := make([]string, r.count())
	for i := range names {
		names[i] = string(r.take(r.count()))
	}
	list := make([]ir.Pos, r.count())
	for i := range list {
		file := r.number()
		if file == 0 {
			continue
		}
		if file > uint64(len(names)) {
			return nil, errPositions
		}
		list[i] = ir.Pos{File: names[file-1], Line: int(r.number()), Col: int(r.number())}
	}
	if r.bad || len(r.b) > 0 {
		return nil, errPositions
	}
	return list, nil
}

// reader reads numbers and bytes; what is not there makes it bad.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count is a number of things of a byte or more each, so never more than there are bytes.
func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return 0
	}
	return int(n)
}

func (r *reader) take(n int) []byte {
	b := r.b[:min(n, len(r.b))]
	r.b = r.b[len(b):]
	return b
}
