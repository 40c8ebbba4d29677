// Package scene paints the picture that the edges example reads by default: a
// lighthouse at dusk. It is made up, so it belongs to nobody, and it can be
// painted in any size.
//
// A point of the scene has x from 0 at the left to the aspect ratio at the
// right, and y from 0 at the top to 1 at the bottom. What lies in front is
// asked first; the first layer that covers a point gives its colour.
package scene
