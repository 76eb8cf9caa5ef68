"""What a launch means: efficiency by the vendor's formulas, tables, documents."""
