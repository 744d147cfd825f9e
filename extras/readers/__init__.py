"""Read further formats: PPTX, XLSX, mail, and the headers of images, in the process where all files are read."""
