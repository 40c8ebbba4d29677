package models

import (
	"errors"
	"strings"

	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/quantized/qnn"
	"github.com/gokiln/kiln/tensor/file"
)

// joinMXFP4 makes of the two tensors that experts have in MXFP4, codes and scales, the tensors that
// [mxfp4Parts] says.
func (p *published) joinMXFP4() error {
	set := file.NewSet(p.set)
	for e := range p.set.All() {
		list, err := mxfp4Parts(p.set, e)
		for _, one := range list {
			err = errors.Join(err, set.Add(one))
		}
		if err != nil {
			return errors.Join(err, set.Close())
		}
		p.config.mxfp4 = p.config.mxfp4 || len(list) == 0
	}
	p.set, p.from = set, qnn.File(set)
	return nil
}

// mxfp4Parts returns what takes the place of a tensor: for codes one with the name of the
// parameter, or two where gates and the others are in turn; for scales nothing; and the rest is as
// it is.
func mxfp4Parts(set *file.Set, e *file.Entry) ([]*file.Entry, error) {
	if name, ok := strings.CutSuffix(e.Name, "_scales"); ok && set.Has(name+"_blocks") {
		return nil, nil
	}
	name, ok := strings.CutSuffix(e.Name, "_blocks")
	if !ok {
		return []*file.Entry{e}, nil
	}
	scales, err := set.Get(name + "_scales")
	if err != nil {
		return nil, err
	}
	names := []string{name}
	if layer, ok := strings.CutSuffix(name, "gate_up_proj"); ok {
		names = []string{layer + "gate_proj", layer + "up_proj"}
	}
	out := make([]*file.Entry, len(names))
	for i, n := range names {
		if out[i], err = checkpoint.MXFP4Blocks(n, e, scales, i, len(names)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
