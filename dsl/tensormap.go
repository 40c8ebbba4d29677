package dsl

// TensorMap describes a tensor of three dimensions in global memory for [CopyTensorAsync], and the
// box of it that one copy takes: an opaque value that the driver of a device makes, see
// runtime.Device.EncodeTensorMap. It is a parameter of the kernel, before all others that are no tensor
// maps.
type TensorMap [16]uint64

// CopyTensorAsync begins to copy the box at (x, y, z) of a tensor, x the innermost dimension, to
// dst[i:] in shared memory, a multiple of 1024 bytes. What the box has beyond the edges of the tensor
// becomes zeros. A row of the box is 128 bytes, swizzled as [WarpgroupMMA] wants it. One thread
// calls it, and who waits for the phase of bar that is under way sees the copy, if the phase expects
// its bytes (see [MBarrier.ArriveExpect]), all of the box whether inside or not.
//
// Blocks has a bit for each block of the cluster that gets the copy, in the same part of its shared
// memory, counted by its own barrier there; with 0 it is the block of the thread alone. Only a
// device of which the fact MatrixWarpgroup is not 0 comes to it.
//
//kiln:intrinsic
func CopyTensorAsync[T Number](t Thread, dst []T, i int, m TensorMap, x, y, z int, bar *MBarrier, blocks ConstInt) {
	panic("dsl.CopyTensorAsync: this device has no such instruction; ask dsl.MatrixShape first")
}

// Pixel is where a copy of [CopyPixelsAsync] begins: at a channel of the pixel At of an image, moved by
// Offset, which is not negative. Axes are listed from the innermost on.
type Pixel struct {
	Channel int
	At      [3]int
	Image   int
	Offset  [3]int
}

// CopyPixelsAsync is [CopyTensorAsync] of pixels of images that have their channels innermost: a column
// of the matrix that an implicit GEMM multiplies. The map says how many pixels there are and how many
// channels of each, 128 bytes; where in an image a row of pixels and the image itself end, from where
// on the next ones go on, and how far apart pixels are. All that is without the offset, by which each
// of them is moved then. Those outside of the image become zeros. See runtime.Device.EncodePixelMap. The
// number of axes is 1 to 3, a constant, and that of the map.
//
//kiln:intrinsic
func CopyPixelsAsync[T Number](t Thread, dst []T, i int, m TensorMap, axes ConstInt, at Pixel, bar *MBarrier, blocks ConstInt) {
	panic("dsl.CopyPixelsAsync: this device has no such instruction; ask dsl.MatrixShape first")
}

// StoreTensorAsync begins to copy a box from src[i:] in shared memory, which has it as [CopyTensorAsync]
// brings it, to (x, y, z) of a tensor. What is beyond the edges of the tensor is left out, except that
// a row whose length is no multiple of 16 bytes is stored up to one (Triton's issue 11583 says so of
// the H100, too). One thread calls it, behind [AsyncFence] by those that wrote the box and a barrier.
// The copy is over when the kernel is.
//
//kiln:intrinsic
func StoreTensorAsync[T Number](t Thread, src []T, i int, m TensorMap, x, y, z int) {
	panic("dsl.StoreTensorAsync: this device has no such instruction; ask dsl.MatrixShape first")
}

// StoreTensorWait waits until at most n of the copies that the thread has begun by
// [StoreTensorAsync] still read shared memory, so that what the others have read may be written
// again. The number is a constant.
//
//kiln:intrinsic
func StoreTensorWait(t Thread, n ConstInt) {}

// Cluster says that n neighbouring blocks along x, at most 8, run at the same time and reach each
// other's shared memory: block i of the grid is number i % n of its cluster. The number of blocks of
// a launch is a multiple of n. A kernel that calls it again repeats the number. Devices without
// clusters have 1.
//
//kiln:intrinsic
func Cluster(t Thread, n ConstInt) {
	if n != 1 {
		panic("dsl.Cluster: this device has no clusters of blocks")
	}
}

// SyncCluster waits until all threads of the cluster of blocks are there, and orders memory like
// [Thread.Sync].
//
//kiln:intrinsic
func (t Thread) SyncCluster() {
	panic("dsl: this device has no clusters of blocks")
}
