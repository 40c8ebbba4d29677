package dsl

// The shape of [PackedMMA].
const (
	PackedRows    = 32 // rows of A and of the sums
	PackedColumns = 2  // columns of B and of the sums for each lane
	PackedBytes   = 64 // bytes along k of a row in a step
	PackedSums    = PackedRows * PackedColumns
)

// PackedMMA stores a product in the sums c, [PackedSums] of local memory, for all lanes of the warp
// together and with arguments that are the same in all of them: of 32 rows of A, pitch elements apart
// from the beginning of a, by two columns of B for each lane, lane and lane + t.WarpSize(), over
// steps of [PackedBytes] along k. The elements of B that are in 4 bytes along k are next to each other
// in b: of the first column of all lanes, then of the second, and then those that follow along k. Sums
// are in c where [PackedSum] says.
//
// Both factors are in global memory, and it is checked that they are as long as that. Sums have the
// type of [MatrixShape]: those of integers wrap, and in those of BF16, which are added in float32 in
// an order that is the device's, subnormal numbers count as 0. Only a device of which the fact
// MatrixPacked is not 0 comes to it.
//
//kiln:intrinsic
func PackedMMA[T, C Number](t Thread, a []T, pitch int, b []T, c []C, steps int) {
	panic("dsl.PackedMMA: this device has no matrix instruction for the type; ask dsl.MatrixShape first")
}

// PackedSum returns where [PackedMMA] stores the sum of a row, 0 to 31, and of column 0 or 1 of the
// lane.
func PackedSum(row, column int) int { return (row/16*PackedColumns+column)*16 + row%16 }
