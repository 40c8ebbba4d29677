// Package npy reads and writes the files of NumPy: .npy, which has one array, and .npz,
// a zip archive of such files.
//
// An array is a header, which is a dictionary in the syntax of Python, and the elements:
//
//	\x93NUMPY, version, size of the header
//	{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//	24 bytes
//
// [Open] and [OpenNPZ] read headers only; elements are had from the entries, without a
// copy if the file could be mapped and nothing is compressed or to be converted:
//
//	set, err := npy.OpenNPZ("weights.npz")
//	defer set.Close()
//	e, err := set.Get("weight") // member weight.npy
//	v, err := e.View()          // unpacks this array only
//
// Versions 1, 2 and 3 of the format; both byte orders; row-major order, and column-major
// order, which is one of strides and moves no element. Types: f2 f4 f8 i1 i2 i4 i8 u1 u2
// u4 u8 b1, of which i1, u2, u8 and b1 are read as package file says. An array of another
// type, as complex numbers or text, is listed, and is an error when it is read.
//
// [Write] and [WriteNPZ] write version 1 with the bytes that NumPy writes; members of an
// archive are stored, so that they can be mapped, and lie at multiples of 64 bytes.
package npy
