// Package archive reads zip archives that hold the bytes of tensors: those of NumPy and
// of PyTorch.
//
// Members that are stored are parts of the file, and views of them cost nothing. Those
// that are deflated are unpacked each time they are viewed, no further than needed. No
// member may claim to unpack to more than deflate can, and all of them together not to be
// larger than the file, so what is read is in proportion to what is there.
//
//	a, err := archive.Open(src)
//	v, err := a.Member("data.pkl").View(0, 100)
package archive
