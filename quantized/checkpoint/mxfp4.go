package checkpoint

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// Sizes of a block of MXFP4: elements, bytes of their codes, and bytes with the scale.
const (
	mxElems = 32
	mxCodes = mxElems / 2
	mxBytes = 1 + mxCodes
)

// MXFP4Blocks returns the weights of experts in MXFP4, as gpt-oss is published, as one tensor of
// the type of that name of package quantized, which multiplies with it as it is. Published are two
// tensors of bytes for k inputs and n outputs, a power of two for each 32 inputs beside the codes:
//
//	name_blocks (experts, n, k/32, 16)
//	name_scales (experts, n, k/32)
//
// The result has outputs first, first+step, … of each expert: 0, 2 and 1, 2 where gates and the
// others are in turn, and 0, 1 for all. It is made when it is read. Tensors that do not fit each
// other are an error of kind [ErrFormat].
func MXFP4Blocks(name string, blocks, scales *file.Entry, first, step int) (*file.Entry, error) {
	if blocks == nil || scales == nil || step < 1 || first < 0 || first >= step {
		return nil, fmt.Errorf("checkpoint: %q: %w: no tensors, or outputs from %d in steps of %d",
			name, tensor.ErrArgument, first, step)
	}
	b, s := blocks.Shape(), scales.Shape()
	if len(s) != 3 || !slices.Equal(b, append(slices.Clone(s), mxCodes)) || s[1]%step != 0 ||
		blocks.DType != tensor.U8 || scales.DType != tensor.U8 || s.Count() == 0 {
		return nil, fmt.Errorf("checkpoint: %q: %w", name, malformed(
			"blocks %v of %s and scales %v of %s: want (experts, outputs, inputs/32, 16) and "+
				"the same without 16, of U8, and outputs a multiple of %d",
			b, blocks.Stored, s, scales.Stored, step))
	}
	shape := tensor.Shape{s[0], s[1] / step, s[2] * mxElems}
	enc := file.Blocks("MXFP4", mxElems, mxBytes)
	return file.FromBlocks(name, enc, shape, func() ([]byte, error) {
		return interleave(blocks, scales, first, step, s[2])
	})
}

// interleave puts the scale in front of each block's codes, and their nibbles in the order of the
// type of package quantized: of element i and i+16 in one byte, in place of 2i and 2i+1.
func interleave(blocks, scales *file.Entry, first, step, perRow int) ([]byte, error) {
	codes, err := blocks.View()
	if err != nil {
		return nil, err
	}
	defer codes.Release()
	powers, err := scales.View()
	if err != nil {
		return nil, err
	}
	defer powers.Release()
	rows := len(powers.Bytes()) / perRow / step
	out := make([]byte, rows*perRow*mxBytes)
	var g errgroup.Group
	part := (rows + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	for at := 0; at < rows; at += part {
		g.Go(func() error {
			for r := at; r < min(at+part, rows); r++ {
				from := (r*step + first) * perRow
				to := out[r*perRow*mxBytes:]
				for i := range perRow {
					to[i*mxBytes] = powers.Bytes()[from+i]
					nibbles(to[i*mxBytes+1:], codes.Bytes()[(from+i)*mxCodes:])
				}
			}
			return nil
		})
	}
	return out, g.Wait()
}

// nibbles reorders the codes of a block.
func nibbles(to, from []byte) {
	const low = 0x0f0f0f0f0f0f0f0f
	a, b := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[8:])
	even, odd := a&low|b&low<<4, a>>4&low|b&^low
	for i := range 8 {
		to[2*i], to[2*i+1] = byte(even>>(8*i)), byte(odd>>(8*i))
	}
}
