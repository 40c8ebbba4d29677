package models

import (
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// rope is the frequencies of rotary embeddings.
type rope struct {
	theta   float64
	scaling fn.RopeScaling
}

// ropeTable is cosines and sines for the positions that were needed so far: of sequences as long as
// those of training, and of longer ones where these have others.
type ropeTable struct {
	rope
	dim       int
	near, far table
}

// table is a table with so many rows.
type table struct {
	rows int
	of   attention.Rotation
}

// ropeStep is by how many positions tables grow at first; then they double.
const ropeStep = 1024

// upTo returns the table of a sequence that has n tokens.
func (t *ropeTable) upTo(d *tensor.Device, n int) attention.Rotation { return t.reach(d, n, n) }

// reach is upTo with as many rows as a number of tokens takes, or as there can be in the table.
func (t *ropeTable) reach(d *tensor.Device, n, tokens int) attention.Rotation {
	s := &t.scaling
	at, most := &t.near, 0
	if s.Type == fn.RopeLong || s.Type == fn.RopeDynamic {
		if most = s.OriginalMax; n > most {
			at, most = &t.far, 0
		}
	}
	if n = tokens; most > 0 {
		n = min(n, most)
	}
	if n <= at.rows && (at == &t.near || s.Type != fn.RopeDynamic) {
		return at.of
	}
	rows := max(2*at.rows, (n+ropeStep-1)/ropeStep*ropeStep)
	if most > 0 {
		rows = min(rows, most)
	}
	if at == &t.far && s.Type == fn.RopeDynamic {
		rows = n // the base grows with each token
	}
	at.rows = rows
	at.of.Cos, at.of.Sin = fn.RopeTable(d, tensor.F32, t.dim, rows, t.theta, *s)
	return at.of
}

// rotate gets the tables of rotary embeddings for each sequence, and of these the rows for all ids.
func (b *batch) rotate(ropes []*ropeTable) {
	if b.step != nil {
		for _, r := range b.step.ropes {
			b.rows = append(b.rows, attention.Rotation{
				Cos: r.Cos.IndexSelect(b.step.at, 0), Sin: r.Sin.IndexSelect(b.step.at, 0),
			})
		}
		return
	}
	var at *tensor.Tensor
	for _, r := range ropes {
		tables := make([]attention.Rotation, len(b.list))
		same := true
		for i, s := range b.list {
			tables[i] = r.upTo(b.device, s.n+b.count(i))
			same = same && tables[i].Cos == tables[0].Cos
		}
		var rows attention.Rotation
		if same && len(b.list) > 1 {
			if at == nil {
				at = b.positions()
			}
			rows.Cos, rows.Sin = tables[0].Cos.IndexSelect(at, 0), tables[0].Sin.IndexSelect(at, 0)
		} else {
			rows = b.rowsOf(tables)
		}
		b.tables, b.rows = append(b.tables, tables), append(b.rows, rows)
	}
}

// rowsOf returns the rows of all ids from a table for each sequence.
func (b *batch) rowsOf(tables []attention.Rotation) attention.Rotation {
	var cos, sin []*tensor.Tensor
	for i, s := range b.list {
		cos = append(cos, tables[i].Cos.Narrow(0, s.n, b.count(i)))
		sin = append(sin, tables[i].Sin.Narrow(0, s.n, b.count(i)))
	}
	if len(cos) == 1 {
		return attention.Rotation{Cos: cos[0], Sin: sin[0]}
	}
	return attention.Rotation{Cos: tensor.Cat(0, cos...), Sin: tensor.Cat(0, sin...)}
}
