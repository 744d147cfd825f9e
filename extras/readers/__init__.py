"""Read further formats in the process where all files are read: DOCX, PPTX, XLSX, mail, letters on pictures, and what
the headers of images say."""
