// Command edges finds the edges in a picture, on a GPU if there is one:
//
//	go run ./examples/edges -in photo.jpg -out edges.png
//
// Without -in it reads a painted lighthouse that is built in. It prints what
// was compiled and what came from the kernel cache (run it twice), how long
// each step took, and a hash of the result, which is the same on all devices:
//
//	go run ./examples/edges -device cuda -compare cpu
//
// counts the pixels in which two devices differ, and fails if there are any.
//
// The steps are those of Canny's detector without hysteresis (A Computational
// Approach to Edge Detection, 1986): brightness, Gaussian blur in two passes,
// Sobel gradient, a threshold from the histogram of the gradient by Otsu's
// method, and non-maximum suppression. The kernels are in package kernels; the
// pipeline is [Detect].
package main
