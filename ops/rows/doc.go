// Package rows has the operations along dimensions: reductions, scans, softmax and norms. Rows are
// contiguous, or columns that neighbouring threads read together; long ones are divided among
// blocks, whose partial sums are joined by a second kernel or published through status words.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package rows
