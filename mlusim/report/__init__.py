"""Reports of launches: efficiency by the vendor's formulas, tables, documents."""
